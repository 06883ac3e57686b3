const IRREGULAR = { child: "children", mouse: "mice" };

/** The plural of an English noun. */
function plural(word) {
  if (word in IRREGULAR) return IRREGULAR[word];
  if (word.endsWith("y")) return word.slice(0, -1) + "ies";
  if (/(s|x|ch)$/.test(word)) return word + "es";
  return word + "s";
}

/** `2 mice`. */
function countOf(count, word) {
  return `${count} ${count > 1 ? plural(word) : word}`;
}

module.exports = { plural, countOf };
