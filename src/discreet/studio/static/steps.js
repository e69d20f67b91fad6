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
})();
