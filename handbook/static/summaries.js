/* Some words of whatever the search found. Sphinx would fetch the page to show them, which a browser refuses to
   pages that are files; here all texts are in searchtexts.js, section by section. */
"use strict";

const _AROUND = 100;

function _summaryOf(address, terms) {
  const [path, anchor] = address.split("#");
  const sections = SEARCH_TEXTS[path.replace(/\.html$/, "")] ?? [];
  const hits = text => terms.filter(term => text.toLowerCase().includes(term)).length;
  const best = anchor
    ? sections.find(([id]) => id === decodeURIComponent(anchor))
    : [...sections].sort(([, a], [, b]) => hits(b) - hits(a))[0];
  if (!best) return "";
  const text = best[1], low = text.toLowerCase();
  const places = terms.map(term => low.indexOf(term)).filter(place => place >= 0);
  const middle = places.length ? Math.min(...places) : 0;
  const from = middle > _AROUND ? text.indexOf(" ", middle - _AROUND) + 1 : 0;
  const to = text.length > middle + 2 * _AROUND ? text.lastIndexOf(" ", middle + 2 * _AROUND) : text.length;
  return (from > 0 ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
}

function _tell(item, terms) {
  const link = item.querySelector("a");
  const words = link && !item.querySelector("p") ? _summaryOf(link.getAttribute("href").split("?")[0], terms) : "";
  if (!words) return;
  const told = document.createElement("p");
  told.className = "context";
  told.textContent = words;
  item.append(told);
}

document.addEventListener("DOMContentLoaded", () => {
  const asked = new URLSearchParams(window.location.search).get("q") ?? "";
  const terms = asked.toLowerCase().split(/[^\p{Letter}\p{Number}_]+/u).filter(term => term);
  const tell = () => document.querySelectorAll("#search-results li").forEach(item => _tell(item, terms));
  new MutationObserver(tell).observe(document.getElementById("search-results"), { childList: true, subtree: true });
  // The first is there already.
  tell();
});
