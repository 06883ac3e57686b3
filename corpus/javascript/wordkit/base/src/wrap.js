/** Breaks a text into lines of at most so many characters. */
function wrap(text, width) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line.length + word.length > width) {
      lines.push(line.trim());
      line = "";
    }
    line += word + " ";
  }
  lines.push(line.trim());
  return lines;
}

module.exports = { wrap };
