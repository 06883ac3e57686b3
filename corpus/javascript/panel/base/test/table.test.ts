import { expect, test } from "vitest";
import { table } from "../src/table.js";
import { JOBS, type Job } from "./helpers.js";

const columns = [
  { title: "job", value: (job: Job) => job.name },
  { title: "done", value: (job: Job) => job.done },
];

test("draws a table", () => {
  expect(table(JOBS, columns)).toMatchSnapshot();
});

test("draws titles without rows", () => {
  expect(table([], columns)).toBe("job  done");
});

test("is as wide as its widest row", () => {
  expect(table(JOBS, columns)).toBeAsWideAs(12);
});
