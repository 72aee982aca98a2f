// The page works without this file. It adds keys (j, k, a, r), the state of work in progress, and the curve that takes
// a moment to draw. Nothing here reads text as markup or as code.
"use strict";

const items = [...document.querySelectorAll("[data-item]")];
const select = (item) => {
  items.forEach((other) => other.classList.toggle("selected", other === item));
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
};
const selected = () => items.findIndex((item) => item.contains(document.activeElement));

const tick = (item, on) => {
  const box = item && item.querySelector("input[type=checkbox]");
  if (box) box.checked = on;
  return Boolean(box);
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("textarea, select, input:not([type=checkbox])")) return;
  const at = selected();
  if (event.key === "j" || event.key === "k") {
    const next = event.key === "j" ? Math.min(at + 1, items.length - 1) : Math.max(at - 1, 0);
    if (items[next]) select(items[next]);
  } else if (event.key === "a" || event.key === "r") {
    // On a hunk: take it, or leave it out. Elsewhere: go to the button; Enter presses it, so that no slip decides.
    const button = document.querySelector(`button[value^=${event.key === "a" ? "accept" : "reject"}]`);
    if (!tick(items[at], event.key === "a") && button) button.focus();
  } else return;
  event.preventDefault();
});

const watched = document.querySelector("[data-live]");
const look = async () => {
  try {
    const answer = await fetch(watched.dataset.live);
    if (answer.ok) {
      const now = await answer.json();
      if (now.stamp !== watched.dataset.stamp) return location.reload();
      watched.querySelector("[data-live-text]").textContent = now.text;
    }
  } catch {
    // The server is busy or has stopped; the next look tells.
  }
  setTimeout(look, 1500);
};
if (watched) look();

const draw = async (place) => {
  try {
    const answer = await fetch(place.dataset.svg);
    if (!answer.ok) return;
    const drawn = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
    if (drawn.localName === "svg") place.replaceChildren(document.importNode(drawn, true));
  } catch {
    // The link to the page that has it stays.
  }
};
document.querySelectorAll("[data-svg]").forEach(draw);
