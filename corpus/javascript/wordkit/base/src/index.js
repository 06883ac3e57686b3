const { slug } = require("./slug");
const { plural, countOf } = require("./plural");
const { wrap } = require("./wrap");
const { retry } = require("./retry");

module.exports = { slug, plural, countOf, wrap, retry };
