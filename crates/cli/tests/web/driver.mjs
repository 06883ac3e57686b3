// Drives a browser for the tests of the dashboard: one command a line on standard input, one answer a line on standard output.
//
// Each command is an object with `do` and what it needs; each answer is `{ok: …}` or `{error: "…"}`. Pages have names, and pages that share a `person` share cookies.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const place = process.argv[2], executablePath = process.argv[3];
const require = createRequire(place + "/package.json");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const people = new Map(), pages = new Map(), trouble = [];

const person = async (name, options) => {
  if (!people.has(name)) people.set(name, await browser.newContext(options));
  return people.get(name);
};

// Whatever a browser says that a sound page never makes it say.
const listen = (name, page) => {
  page.on("dialog", (dialog) => { trouble.push(`${name}: dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => trouble.push(`${name}: error: ${error.message}`));
  page.on("console", (message) => { if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text())) trouble.push(`${name}: console: ${message.text()}`); });
  page.on("request", (request) => { const url = new URL(request.url()); if (!["127.0.0.1", "localhost"].includes(url.hostname)) trouble.push(`${name}: asked ${request.url()}`); });
};

const commands = {
  async open({ page, person: who = "ada", javascript = true, width = 1280, height = 800, scheme = "light" }) {
    const options = { javaScriptEnabled: javascript, viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce" };
    const made = await (await person(who, options)).newPage();
    listen(page, made);
    made.setDefaultTimeout(20000);
    pages.set(page, made);
  },
  async go({ page, url }) { return (await pages.get(page).goto(url)).status(); },
  async url({ page }) { return pages.get(page).url(); },
  async click({ page, at }) { await pages.get(page).click(at); },
  async fill({ page, at, text }) { await pages.get(page).fill(at, text); },
  async check({ page, at }) { await pages.get(page).check(at); },
  async choose({ page, at, value }) { await pages.get(page).selectOption(at, value); },
  async press({ page, keys }) { for (const key of keys) await pages.get(page).keyboard.press(key); },
  async type({ page, text }) { await pages.get(page).keyboard.type(text); },
  async text({ page, at = "body" }) { return pages.get(page).innerText(at); },
  async value({ page, at }) { return pages.get(page).inputValue(at); },
  async html({ page }) { return pages.get(page).content(); },
  async sees({ page, text, at = "body" }) { await pages.get(page).locator(at).filter({ hasText: text }).first().waitFor({ state: "attached" }); },
  async size({ page, width, height = 800 }) { await pages.get(page).setViewportSize({ width, height }); },
  async scheme({ page, scheme }) { await pages.get(page).emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" }); },
  // How far the page is wider than its window, and which elements stick out.
  async overflow({ page }) {
    return pages.get(page).evaluate(() => {
      const room = document.documentElement.clientWidth, over = document.documentElement.scrollWidth - room;
      if (over <= 0) return [];
      const wide = [...document.querySelectorAll("body *")].filter((it) => it.getBoundingClientRect().right > room + 1);
      return wide.slice(0, 5).map((it) => `${it.tagName.toLowerCase()}.${it.getAttribute("class") || ""}: ${Math.round(it.getBoundingClientRect().right - room)} px`);
    });
  },
  // Where the keyboard is: an element and its words.
  async focus({ page }) {
    return pages.get(page).evaluate(() => {
      const it = document.activeElement;
      const ring = getComputedStyle(it).outlineStyle !== "none" || getComputedStyle(it).boxShadow !== "none";
      return { tag: it.tagName.toLowerCase(), name: it.name || "", type: it.type || "", value: it.value || "", href: it.getAttribute("href") || "", text: (it.innerText || "").trim().slice(0, 80), ring };
    });
  },
  async axe({ page, only }) {
    // Half a megabyte of script, once for each page that is loaded.
    if (!(await pages.get(page).evaluate(() => "axe" in window))) await pages.get(page).evaluate(axe);
    return pages.get(page).evaluate(async (only) => {
      const found = await window.axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: only }) });
      return found.violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
    }, only);
  },
  async eval({ page, script }) { return pages.get(page).evaluate(script); },
  async shot({ page, path }) { await pages.get(page).screenshot({ path, fullPage: true }); },
  async trouble() { return trouble.splice(0); },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const command = JSON.parse(line);
    answer = { ok: (await commands[command.do](command)) ?? null };
  } catch (error) {
    answer = { error: String(error.message ?? error).split("\n").slice(0, 12).join("\n") };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
