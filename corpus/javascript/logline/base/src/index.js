export { parseLine, parseLines } from "./parse.js";
export { formatEntry, formatDuration } from "./format.js";
export { matches, compileFilter } from "./filter.js";
export { SlidingWindow } from "./window.js";
export { summarize } from "./summary.js";
