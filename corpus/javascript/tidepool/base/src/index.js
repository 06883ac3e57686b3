export { Cache } from './cache.js';
export { parseDuration } from './duration.js';
export { keyOf } from './key.js';
export { Loader } from './loader.js';
export { formatReport } from './report.js';
