"use strict";
// Asks the server every two seconds what has changed, and changes only that: the open tab, the
// scroll position and opened messages stay. All texts arrive escaped by the server.

const PERIOD = 2000;
const PINNED = "summary"; // always on top, no tab of its own
let version = 0;
let shown = {}; // the HTML of each section, as it is on the page
let failures = 0;

const byId = (id) => document.getElementById(id);

function chosen() {
  const wanted = decodeURIComponent(location.hash.slice(1));
  const tabs = [...byId("tabs").children].map((tab) => tab.dataset.key);
  return tabs.includes(wanted) ? wanted : tabs[0];
}

function openTab() {
  const key = chosen();
  for (const tab of byId("tabs").children) {
    const open = tab.dataset.key === key;
    tab.classList.toggle("open", open);
    tab.setAttribute("aria-selected", String(open));
  }
  for (const section of byId("sections").querySelectorAll("section")) {
    section.classList.toggle("open", section.id === key);
  }
  showFigures();
}

// Figures are drawn by the server when they are asked for: only those of the open tab are.
function showFigures() {
  for (const image of byId("sections").querySelectorAll("section.open img[data-kind]")) {
    if (image.dataset.version === String(version)) continue;
    const address = `/figure/${encodeURIComponent(image.dataset.kind)}.svg?v=${version}`;
    image.dataset.version = String(version);
    const next = new Image();
    next.onload = () => {
      image.src = address;
      image.classList.remove("waiting");
    };
    next.onerror = () => { image.dataset.version = ""; };
    next.src = address;
  }
}

// Puts a new version of a section in the place of the old one and carries over what the user did.
function replaceSection(old, fresh) {
  for (const image of fresh.querySelectorAll("img[data-kind]")) {
    image.removeAttribute("src");
    const before = old && old.querySelector(`img[data-kind="${CSS.escape(image.dataset.kind)}"]`);
    if (before && before.hasAttribute("src")) {
      image.src = before.src;
      image.width = before.naturalWidth;
      image.height = before.naturalHeight;
    } else {
      image.classList.add("waiting");
    }
  }
  if (!old) return byId("sections").append(fresh);
  fresh.className = old.className; // shown or not, as before: else the page would jump
  const opened = new Set();
  for (const box of old.querySelectorAll("details[open]")) opened.add(box.dataset.group);
  for (const box of fresh.querySelectorAll("details")) box.open = opened.has(box.dataset.group);
  const scrolled = [...old.querySelectorAll(".table")].map((t) => [t.scrollTop, t.scrollLeft]);
  const place = [window.scrollX, window.scrollY];
  old.replaceWith(fresh);
  fresh.querySelectorAll(".table").forEach((table, k) => {
    if (scrolled[k]) [table.scrollTop, table.scrollLeft] = scrolled[k];
  });
  window.scrollTo({ left: place[0], top: place[1], behavior: "instant" });
}

function showSections(sections) {
  const tabs = byId("tabs");
  const keys = sections.map((s) => s.key);
  if (keys.join() !== Object.keys(shown).join()) {
    tabs.replaceChildren();
    byId("sections").replaceChildren();
    shown = {};
    for (const { key, title } of sections) {
      if (key === PINNED) continue;
      const tab = document.createElement("a");
      tab.href = `#${key}`;
      tab.dataset.key = key;
      tab.setAttribute("role", "tab");
      tab.textContent = title;
      tabs.append(tab);
    }
  }
  for (const { key, html } of sections) {
    if (shown[key] === html) continue;
    const holder = document.createElement("template");
    holder.innerHTML = html; // escaped by the server; scripts in it would not run, by our policy
    replaceSection(byId(key), holder.content.firstElementChild);
    shown[key] = html;
  }
}

function ago(seconds) {
  if (seconds < 5) return "just now";
  if (seconds < 120) return `${Math.round(seconds)} s ago`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
  return `${Math.round(seconds / 3600)} h ago`;
}

function trouble(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}

async function update() {
  try {
    const answer = await fetch(`/state?version=${version}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    const data = await answer.json();
    failures = 0;
    trouble(data.error ? `The journal cannot be read now: ${data.error}` : "");
    byId("age").textContent = ` · last written ${ago(data.age)}`;
    if (data.sections) {
      version = data.version;
      byId("name").textContent = data.name;
      byId("subtitle").textContent = data.subtitle;
      const state = byId("state");
      state.textContent = data.state;
      state.className = `state ${data.state.replace(" ", "-")}`;
      document.title = `${data.name} · ${data.state}`;
      showSections(data.sections);
      openTab();
    }
  } catch (error) {
    failures += 1;
    if (failures > 1) trouble("The dashboard has ended. Start it again: archeng dashboard.");
  }
  window.setTimeout(update, failures > 3 ? 5 * PERIOD : PERIOD);
}

window.addEventListener("hashchange", openTab);
update();
