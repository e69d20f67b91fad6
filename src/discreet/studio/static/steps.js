"use strict";
// Comfort for the screens columns and plan; both work without it.
(() => {
  const find = document.getElementById("find"), table = document.querySelector("table.sheet");
  if (find && table) {
    const rows = [...table.tBodies[0].rows], name = (row) => row.querySelector("a").textContent.toLowerCase();
    find.addEventListener("input", () => {
      const word = find.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !name(row).includes(word);
    });
    find.form.addEventListener("submit", (event) => event.preventDefault());  // it is done already
    const form = document.querySelector("form.sheet");
    let typed = false;
    form.addEventListener("input", () => { typed = true; });
    form.addEventListener("submit", () => { typed = false; });
    addEventListener("beforeunload", (event) => { if (typed) event.preventDefault(); });
    const all = document.querySelector("[data-all]");
    all.addEventListener("click", (event) => {
      event.preventDefault();
      const boxes = rows.filter((row) => !row.hidden).map((row) => row.querySelector("[name=pick]"));
      const on = !boxes.every((box) => box.checked);
      for (const box of boxes) box.checked = on;
    });
    const bulk = document.getElementById("bulk");
    table.addEventListener("change", (event) => { if (event.target.name === "pick" && event.target.checked) bulk.open = true; });
  }

  const plan = document.querySelector("form.plan"), drawn = document.getElementById("outlook");
  if (plan && drawn) {
    let waiting = 0, asked = 0;
    const redraw = async () => {
      const mine = ++asked, said = new URLSearchParams(new FormData(plan));
      drawn.classList.add("old");
      try {
        const got = await fetch(`${plan.dataset.outlook}?${said}`);
        if (mine === asked && got.ok) {
          drawn.innerHTML = await got.text();
          plan.querySelector(".now").textContent = drawn.querySelector(".figure b")?.textContent ?? "";
        }
      } finally { if (mine === asked) drawn.classList.remove("old"); }
    };
    plan.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 180); });
    plan.querySelector("[data-redraw]").hidden = true;
    for (const slider of plan.querySelectorAll("[data-log]")) {
      const field = document.getElementById(slider.dataset.log);
      const low = Math.log10(slider.min), high = Math.log10(slider.max), whole = field.name === "k";
      slider.min = low; slider.max = high; slider.step = (high - low) / 200; slider.hidden = false;
      const follow = () => { const value = parseFloat(field.value.replace(",", ".")); if (value > 0) slider.value = Math.log10(value); };
      const told = () => slider.setAttribute("aria-valuetext", field.value);
      follow(); told();
      slider.addEventListener("input", () => {
        const value = 10 ** slider.value;
        field.value = whole ? Math.round(value) : Number(value.toPrecision(2)); told();
      });
      field.addEventListener("input", () => { follow(); told(); });
    }
    const method = plan.querySelector("select[name=method]");
    method?.addEventListener("change", () => plan.querySelector("[data-redraw]").click());
  }
})();
