function quote(value) {
  return value.includes(" ") ? `"${value}"` : value;
}

/** The line of an entry. */
export function formatEntry(entry) {
  return Object.entries(entry)
    .map(([key, value]) => `${key}=${quote(value)}`)
    .join(" ");
}

/** A number of seconds as `1h2m3s`. */
export function formatDuration(seconds) {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  let out = "";
  if (hours) out += `${hours}h`;
  if (minutes) out += `${minutes}m`;
  if (rest) out += `${rest}s`;
  return out;
}
