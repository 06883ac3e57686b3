// Keeps an open page up to date. Without this script, a reload shows the same content.
//
// The stream only reports that something changed. The script then fetches the page again and replaces each element
// marked `data-live` that differs. It keeps an element with the focus or with edited fields, and shows a note.
"use strict";
(() => {
  const body = document.body;
  let follow = null;
  // On a narrow screen the navigation scrolls.
  document.querySelector(".nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  if (!body.dataset.seq) return keys();

  let last = body.dataset.seq, source = null, timer = 0, busy = false, again = false;
  const status = document.getElementById("live"), note = document.getElementById("note");

  const say = (text, on) => { status.textContent = text; status.classList.toggle("on", on); };
  const clock = () => new Date().toTimeString().slice(0, 8);

  // Returns whether the user is editing something inside this element.
  const held = (element) => {
    if (element.contains(document.activeElement) && document.activeElement !== body && !element.matches(".lines")) {
      if (document.activeElement.matches("input, textarea, select, summary")) return true;
    }
    for (const field of element.querySelectorAll("textarea, input")) {
      if (field.type === "radio" ? field.checked !== field.defaultChecked : field.type !== "hidden" && field.value !== field.defaultValue) return true;
    }
    return false;
  };
  const tell = (text) => { note.hidden = false; note.textContent = text; };
  const name = (element, index) => element.id || index + " " + element.querySelector("summary")?.textContent;
  const keepOpen = (from, to) => {
    const were = new Map([...from.querySelectorAll("details")].map((it, index) => [name(it, index), it.open]));
    [...to.querySelectorAll("details")].forEach((it, index) => { if (were.has(name(it, index))) it.open = were.get(name(it, index)); });
  };
  const swap = (now, next) => {
    if (now.isEqualNode(next)) return;
    if (now.hasAttribute("data-list")) return swapList(now, next);
    // The script has changed this button, and it may have the focus.
    if (now.id === "follow") return;
    if (held(now)) return tell("This changed while you were writing. Your text is kept; reload to see what is new.");
    keepOpen(now, next);
    now.replaceWith(document.importNode(next, true));
  };
  // Keep unchanged entries of lists, so that open details and typed text survive.
  const swapList = (now, next) => {
    const wanted = new Set([...next.children].map((it) => it.id));
    for (const old of [...now.children]) {
      if (wanted.has(old.id)) continue;
      if (held(old)) tell("Somebody answered a request while you were writing, or its task moved on. Your text is kept; the page of the task says who it was.");
      else old.remove();
    }
    let before = null;
    for (const one of [...next.children]) {
      const known = document.getElementById(one.id);
      if (known && now.contains(known)) { keepOpen(known, one); if (!known.isEqualNode(one)) swap(known, one); before = document.getElementById(one.id); }
      else { const made = document.importNode(one, true); if (before) before.after(made); else now.prepend(made); before = made; }
    }
  };

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      // The header lets the server give the same page to all viewers.
      const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store", headers: { "x-acquit-refresh": "1" } });
      if (answer.status === 401) return location.reload();
      if (!answer.ok) throw new Error(answer.status);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const before = lineCount();
      const marked = [...document.querySelectorAll("[data-live]")].filter((it) => !it.parentElement.closest("[data-live]"));
      for (const now of marked) { const other = next.getElementById(now.id); if (other) swap(now, other); else if (!held(now)) now.remove(); }
      for (const other of next.querySelectorAll("main > [data-live]")) {
        if (!document.getElementById(other.id)) { const left = other.previousElementSibling && document.getElementById(other.previousElementSibling.id); if (left) left.after(document.importNode(other, true)); }
      }
      follow.grew(lineCount() - before);
      count();
    } catch { say("as of " + clock() + ", trying again", false); }
    finally { busy = false; if (again) { again = false; schedule(); } }
  };
  // Show a few changes at once, and then at most two per second.
  const MOST = 5, EVERY = 500;
  let room = MOST, counted = Date.now();
  const schedule = () => {
    if (timer) return;
    const now = Date.now();
    room = Math.min(MOST, room + (now - counted) / EVERY);
    counted = now;
    timer = setTimeout(() => { timer = 0; room -= 1; refresh(); }, Math.max(0, 1 - room) * EVERY);
  };

  // Follow mode keeps the newest line in view. Scrolling up ends it; then the button counts new lines.
  const lineCount = () => document.querySelectorAll(".lines > li").length;
  follow = (() => {
    const button = () => document.querySelector("[data-follow]"), box = () => document.querySelector(".scrolled");
    let on = true, fresh = 0;
    const near = () => { const it = box() || document.documentElement; return it.scrollTop + it.clientHeight >= it.scrollHeight - 60; };
    const show = () => { const it = button(); if (!it) return; it.hidden = false; it.setAttribute("aria-pressed", on); it.textContent = on ? "Stop following" : fresh ? `Follow, ${fresh} new` : "Follow"; };
    const jump = () => { const it = box() || document.documentElement; it.scrollTop = it.scrollHeight; };
    const set = (wanted) => { on = wanted; if (on) { fresh = 0; jump(); } show(); };
    const scrolled = () => { if (!button()) return; const at = near(); if (at !== on) { on = at; if (on) fresh = 0; show(); } };
    document.addEventListener("scroll", scrolled, { capture: true, passive: true });
    document.addEventListener("click", (event) => { if (event.target.closest("[data-follow]")) set(!on); });
    if (button()) { if (box()) jump(); on = near(); show(); }
    return { grew: (count) => { if (count <= 0 || !button()) return show(); if (on) jump(); else fresh += count; show(); }, toggle: () => { if (button()) set(!on); } };
  })();

  // A browser allows six connections per host, so only the page that holds the lock listens. It informs the others
  // through a channel.
  const channel = new BroadcastChannel("acquit-live");
  let wish = null, end = null;
  const heard = (news) => {
    if (news.id) last = news.id;
    const about = body.dataset.task;
    // Output of an agent is on the pages of its task, and on the board.
    const shown = !news.task || (about ? news.task === about : news.kind !== "printed" || location.pathname === "/");
    if (!document.hidden && shown) schedule();
  };
  const state = (on) => say(on ? "live" : "as of " + clock() + ", trying again", on);
  channel.onmessage = ({ data }) => {
    if (data.ask) { if (source) channel.postMessage({ on: source.readyState === 1 }); }
    else if ("on" in data) state(data.on);
    else heard(data);
  };
  const listen = () => new Promise((over) => {
    if (document.hidden) return over();
    end = over;
    source = new EventSource("/live?after=" + last);
    const tell = (on) => { state(on); channel.postMessage({ on }); };
    source.onopen = () => tell(true);
    source.onerror = () => tell(false);
    for (const kind of ["change", "again", "printed"]) source.addEventListener(kind, (event) => {
      const news = { id: event.lastEventId, kind, task: JSON.parse(event.data).task };
      heard(news); channel.postMessage(news);
    });
  });
  const open = () => {
    if (wish || document.hidden) return;
    wish = new AbortController();
    channel.postMessage({ ask: true });
    if (navigator.locks) navigator.locks.request("acquit-live", { signal: wish.signal }, listen).catch(() => {}); else listen();
  };
  // A hidden page lets another one listen.
  const close = () => { wish?.abort(); wish = null; source?.close(); source = null; end?.(); end = null; };
  document.addEventListener("visibilitychange", () => { if (document.hidden) { close(); say("as of " + clock(), false); } else { open(); refresh(); } });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) { open(); refresh(); } });

  const length = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000)), two = (n) => String(n).padStart(2, "0");
    if (s < 60) return s + " s";
    if (s < 3600) return Math.floor(s / 60) + " m " + two(s % 60) + " s";
    if (s < 86400) return Math.floor(s / 3600) + " h " + two(Math.floor(s / 60) % 60) + " m";
    return Math.floor(s / 86400) + " d " + Math.floor(s / 3600) % 24 + " h";
  };
  const count = () => { for (const time of document.querySelectorAll("time[data-since]")) time.textContent = length(Date.now() - Number(time.dataset.since)); };
  setInterval(count, 1000);
  // Leases of workers and pauses of schedules are no events.
  if (["/workers", "/nights"].includes(location.pathname)) setInterval(() => { if (!document.hidden) schedule(); }, 5000);
  open();
  // The agent may have printed between the load of the page and the start of the stream.
  if (document.querySelector("[data-follow]")) schedule();
  keys();

  function keys() {
    let g = false, at = -1;
    const pages = { b: "/", i: "/inbox", w: "/workflows", n: "/nights", c: "/costs", a: "/agents", d: "/doctor" };
    const unfold = () => { const all = [...document.querySelectorAll("details.tool")], open = !all.every((it) => it.open); all.forEach((it) => { it.open = open; }); };
    for (const it of document.querySelectorAll("[data-unfold]")) it.hidden = !document.querySelector("details.tool");
    document.addEventListener("click", (event) => { if (event.target.closest("[data-unfold]")) unfold(); });
    // The request that a key is about: the one with the focus, or the first. Keys go to its fields and never send.
    const asked = (event) => event.target.closest("article.asks") || document.querySelector("article.asks");
    const go = (event, ...ways) => { const place = asked(event) || document; ways.map((at) => place.querySelector(at)).find(Boolean)?.focus(); };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=radio], [type=checkbox]), textarea, select")) return;
      if (g && pages[event.key]) { location.href = pages[event.key]; return; }
      g = event.key === "g";
      const press = { n: () => { location.href = "/new"; }, f: () => follow?.toggle(), e: unfold, "[": () => document.getElementById("before")?.click(), "]": () => document.getElementById("after")?.click(),
        a: () => go(event, "[data-approve]", ".question :is(input, textarea)", "[data-choice], [name=words-1]"), x: () => go(event, "[data-reject]"), Escape: () => document.querySelectorAll("details.menu[open]").forEach((it) => { it.open = false; }) }[event.key];
      if (press) { event.preventDefault(); press(); return; }
      if (/^[1-9]$/.test(event.key)) { const option = asked(event)?.querySelectorAll("[data-choice]")[event.key - 1]; if (option) { event.preventDefault(); if (option.type === "radio") option.checked = true; option.focus(); } return; }
      if (event.key === "?") { const menu = document.querySelector(".bar details.menu"); if (menu) { menu.open = true; menu.querySelector(".keys").open = true; } return; }
      if (event.key === "/") { const search = document.getElementById("search"); if (search) { event.preventDefault(); search.focus(); } }
      if (event.key === "j" || event.key === "k") {
        const cards = [...document.querySelectorAll(".card, #requests > article")];
        if (!cards.length) return;
        cards[at]?.classList.remove("at");
        at = Math.min(cards.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)));
        cards[at].classList.add("at"); cards[at].querySelector("a").focus();
      }
    });
  }
})();
