/** A bar such as `[####    ]`. */
export function bar(part: number, whole: number, width = 10): string {
  const filled = Math.round((part / whole) * width);
  return `[${"#".repeat(filled)}${" ".repeat(width - filled)}]`;
}

/** `42 %`. */
export function percent(part: number, whole: number): string {
  return `${Math.floor((part / whole) * 100)} %`;
}
