// Comfort on top of forms that work without it.
//   [data-back]        goes back in the history, so that what was typed into a refused form is still there
//   .term              its explanation also opens while the pointer rests on it
//   form[data-drop]    files dropped on it are put into its file field and sent
//   [data-refresh=S]   an element with an id that is fetched again every S seconds, until it says no more
//   form[data-busy]    its button says that work is going on
"use strict";

document.addEventListener("click", (event) => {
  const back = event.target.closest("[data-back]");
  if (back && history.length > 1) { event.preventDefault(); history.back(); }
});

document.querySelector(".steps [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

for (const term of document.querySelectorAll(".term")) {
  const told = document.getElementById(term.getAttribute("popovertarget"));
  if (!told) continue;
  let waiting = 0, hovered = false;
  term.removeAttribute("title");
  term.addEventListener("pointerenter", (event) => {
    if (event.pointerType === "mouse") waiting = setTimeout(() => {
      if (!told.matches(":popover-open")) { hovered = true; told.showPopover({ source: term }); }
    }, 350);
  });
  const leave = () => {
    clearTimeout(waiting);
    setTimeout(() => { if (hovered && !told.matches(":hover") && !term.matches(":hover")) { hovered = false; told.hidePopover(); } }, 200);
  };
  term.addEventListener("pointerleave", leave);
  told.addEventListener("pointerleave", leave);
  term.addEventListener("click", (event) => { if (hovered) { event.preventDefault(); hovered = false; } });
}

for (const form of document.querySelectorAll("form[data-drop]")) {
  const field = form.querySelector("input[type=file]");
  for (const name of ["dragenter", "dragover"]) form.addEventListener(name, (event) => { event.preventDefault(); form.classList.add("over"); });
  for (const name of ["dragleave", "drop"]) form.addEventListener(name, () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) { field.files = event.dataTransfer.files; form.requestSubmit(); }
  });
}

document.addEventListener("submit", (event) => {
  const said = event.target.dataset.busy, button = event.submitter ?? event.target.querySelector("button:not([type=button])");
  if (said && button) { button.setAttribute("aria-busy", "true"); button.textContent = said; setTimeout(() => { button.disabled = true; }); }
});
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

async function refresh(id) {
  const old = document.getElementById(id);
  if (!old?.dataset.refresh) return;
  try {
    const got = await fetch(location.href, { headers: { accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await got.text(), "text/html").getElementById(id);
    if (!fresh) return location.reload();
    if (old.outerHTML !== fresh.outerHTML && !old.contains(document.activeElement)) old.replaceWith(fresh);
    if (!fresh.dataset.refresh) return location.reload();
  } catch { /* the server is gone for the moment: ask again */ }
  later(id, Number(old.dataset.refresh));
}
function later(id, seconds) { setTimeout(() => refresh(id), 1000 * Math.max(seconds, 0.5)); }
for (const each of document.querySelectorAll("[data-refresh][id]")) later(each.id, Number(each.dataset.refresh));

// [data-copy=ID]  copies the value of a field;  [data-print]  prints the page. Both are shown only where a script runs.
for (const button of document.querySelectorAll("[data-copy], [data-print]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (!button.dataset.copy) return print();
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand("copy"); }
    button.textContent = button.dataset.copied;
  });
}
