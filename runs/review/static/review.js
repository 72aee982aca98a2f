// The page works without this file. It adds keys (j, k, a, r), what changes while one looks on, and answers while one
// types. Markup comes from our own server alone, which has escaped all text in it; scripts in it would not run.
// It is read before the page is shown, so that no key is lost that is pressed as soon as a row can be seen.
"use strict";

const whenWhole = (act) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", act, { once: true });
  else act();
};

const listed = () => [...document.querySelectorAll("[data-item]")];
const select = (items, item) => {
  items.forEach((other) => other.classList.toggle("selected", other === item));
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
};

const tick = (item, on) => {
  const box = item && item.querySelector("input[type=checkbox]");
  if (box) box.checked = on;
  return Boolean(box);
};

const onKey = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("textarea, select, input:not([type=checkbox])")) return;
  const items = listed();
  const at = items.findIndex((item) => item.contains(document.activeElement));
  if (event.key === "j" || event.key === "k") {
    const next = event.key === "j" ? Math.min(at + 1, items.length - 1) : Math.max(at - 1, 0);
    if (items[next]) select(items, items[next]);
  } else if (event.key === "a" || event.key === "r") {
    // On a hunk: take it, or leave it out. Elsewhere: go to the button; Enter presses it, so that no slip decides.
    const button = document.querySelector(`button[value^=${event.key === "a" ? "accept" : "reject"}]`);
    if (!tick(items[at], event.key === "a") && button) button.focus();
  } else {
    // data-key: a button that this key presses, on the selected item or, outside of items, on the page.
    const named = [...document.querySelectorAll(`[data-key="${CSS.escape(event.key)}"]`)];
    const pressed = named.find((one) => items[at]?.contains(one)) ?? named.find((one) => !one.closest("[data-item]"));
    if (!pressed || event.repeat) return;
    pressed.click();
    pressed.closest("details")?.querySelector("button")?.focus();
  }
  event.preventDefault();
};
document.addEventListener("keydown", (event) => {
  if (document.readyState === "loading") whenWhole(() => onKey(event));
  else onKey(event);
});

// A form that is on its way says so, as reading many rows takes a while; not where one comes back to the page.
document.addEventListener("submit", ({ submitter }) => submitter?.setAttribute("aria-busy", "true"));
window.addEventListener("pageshow", () => {
  document.querySelectorAll("[aria-busy]").forEach((one) => one.removeAttribute("aria-busy"));
});

// data-load=ADDRESS on a fold: what it holds is fetched when a person opens it, and the link in it stays where that fails.
document.addEventListener("toggle", async ({ target: fold }) => {
  const address = fold.open && fold.dataset.load;
  if (!address) return;
  delete fold.dataset.load;
  try {
    const answer = await fetch(address);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
    fold.lastElementChild.replaceChildren(...fresh.childNodes);
  } catch {
    fold.dataset.load = address;
  }
}, true);

// Parts of the page come anew from the server: each element with an id that also stands here takes its place if it is
// another one, so that nothing flickers and what a person has unfolded or is typing into stays as it is.
const renew = (markup) => {
  for (const fresh of new DOMParser().parseFromString(markup, "text/html").querySelectorAll("[id]")) {
    const old = document.getElementById(fresh.id);
    if (!old || old.isEqualNode(fresh)) continue;
    const open = [...old.querySelectorAll("details[id][open]")].map((one) => one.id);
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(fresh);
    open.forEach((id) => { const one = document.getElementById(id); if (one) one.open = true; });
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
};

// data-stream=ADDRESS: server-sent events; `renew` carries markup, `reload` asks for the whole page, `end` is the last.
// A tab that nobody sees holds no connection: a browser allows few of them.
const follow = (place) => {
  let stream, over = false;
  const close = () => { stream?.close(); stream = undefined; };
  const open = () => {
    if (stream || over || document.hidden) return;
    stream = new EventSource(place.dataset.stream);
    stream.addEventListener("renew", (event) => renew(event.data));
    stream.addEventListener("reload", () => { over = true; close(); location.reload(); });
    stream.addEventListener("end", () => { over = true; close(); });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
};

// data-preview=ADDRESS on a form: what the server says to the form as it stands, asked when typing pauses.
const answerTyping = (form) => {
  let timer, asking;
  const preview = async () => {
    asking?.abort();
    asking = new AbortController();
    try {
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(form.dataset.preview, { method: "POST", body, signal: asking.signal });
      if (answer.ok) renew(await answer.text());
    } catch {
      // A later one is under way, or the server has stopped.
    }
  };
  // data-picks=NAME on a field: what is typed there is what that list then has chosen.
  form.addEventListener("input", ({ target }) => {
    if (target.dataset.picks && target.value) form.elements[target.dataset.picks].value = target.name;
  });
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(preview, 250); });
};

// data-rows=ADDRESS on a box with a table of equally high rows, of which the page has one window: the others are fetched
// as it is scrolled, and what is far from sight is left out. The address of the page follows.
const unroll = (box) => {
  const { rows: address, total, size } = box.dataset, most = Math.ceil(total / size), body = box.querySelector("tbody");
  const first = Number(box.dataset.page), height = body.rows[0].getBoundingClientRect().height;
  const windows = new Map([[first, [...body.rows]]]);
  const gap = (rows) => {
    const line = document.createElement("tr");
    line.className = "gap";
    line.style.height = `${Math.max(0, rows) * height}px`;
    return line;
  };
  const fill = (from, to) => {
    const pages = Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((page) => page > 0 && page <= most);
    const there = pages.map((page) => `${page} ${Array.isArray(windows.get(page))}`).join();
    if (body.dataset.there === there) return;
    body.dataset.there = there;
    const held = (page) => (Array.isArray(windows.get(page)) ? windows.get(page) : [gap(Math.min(size, total - (page - 1) * size))]);
    const focused = body.contains(document.activeElement) ? document.activeElement : null;
    body.replaceChildren(gap((pages[0] - 1) * size), ...pages.flatMap(held), gap(total - pages.at(-1) * size));
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  };
  const load = async (page) => {
    if (page > most || windows.has(page)) return;
    windows.set(page, "asked");
    const answer = await fetch(`${address}&page=${page}`).catch(() => ({}));
    windows.delete(page); // what could not be fetched is asked for again at the next scroll
    if (!answer.ok) return;
    const markup = `<table><tbody>${await answer.text()}</tbody></table>`;
    windows.set(page, [...new DOMParser().parseFromString(markup, "text/html").querySelectorAll("tr")]);
    if (windows.size > 12) windows.delete(windows.keys().next().value);
    draw();
  };
  let timer;
  const draw = () => {
    const [from, to] = [0, box.clientHeight].map((down) => Math.floor((box.scrollTop + down) / height / size) + 1);
    fill(from - 1, to + 1);
    clearTimeout(timer);
    timer = setTimeout(() => {
      [from, to, to + 1].forEach(load);
      const here = new URL(location);
      if (from === Number(here.searchParams.get("page") ?? 1)) return;
      here.searchParams.set("page", from);
      history.replaceState(null, "", here);
    }, 60);
  };
  document.querySelectorAll(".pager").forEach((one) => { one.hidden = true; });
  fill(first - 1, first + 1);
  if (first > 1) box.scrollTop = (first - 1) * size * height;
  box.addEventListener("scroll", draw, { passive: true });
  box.addEventListener("click", ({ target }) => {
    if (!target.closest("a") && !String(getSelection())) target.closest("tr")?.querySelector("th[scope=row] a")?.click();
  });
};

// data-tour: five sentences for who comes here first, until a person has read them; the browser remembers.
const tour = (strip) => {
  strip.hidden = document.cookie.split("; ").includes("judgewright-tour=read");
  strip.querySelector("button").addEventListener("click", () => {
    document.cookie = "judgewright-tour=read; path=/; max-age=31536000; samesite=strict";
    strip.hidden = true;
    document.getElementById("main").focus();
  });
};

whenWhole(() => {
  document.querySelectorAll("[data-tour]").forEach(tour);
  document.querySelectorAll("[data-rows]").forEach(unroll);
  document.querySelectorAll("[data-stream]").forEach(follow);
  document.querySelectorAll("form[data-preview]").forEach(answerTyping);
});
