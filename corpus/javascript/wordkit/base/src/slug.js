/** `Some Title!` as `some-title`. */
function slug(text) {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "");
}

module.exports = { slug };
