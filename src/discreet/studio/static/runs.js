"use strict";
// Follows a run without loading the page again; without it, the page loads itself anew every few seconds.
(() => {
  const place = document.querySelector("[data-progress]");
  if (!place) return;
  const bar = place.querySelector("progress"), stage = place.querySelector("[data-stage]");
  const names = JSON.parse(place.dataset.stages);
  let failed = 0;
  const look = async () => {
    try {
      const answer = await fetch(place.dataset.progress, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const told = await answer.json();
      failed = 0;
      if (told.ended) { location.reload(); return; }
      if (told.share === null) bar.removeAttribute("value"); else bar.value = told.share;
      const share = told.share === null ? "" : ` ${Math.round(100 * told.share)} %`;
      const text = (names[told.what] || names.start) + share;
      if (names[told.what] !== stage.dataset.said) {
        stage.dataset.said = names[told.what] || "";
        stage.textContent = names[told.what] || names.start;
      }
      bar.title = text;
    } catch {
      failed += 1;
      if (failed > 4) { place.querySelector("[data-gone]").hidden = false; }
    }
    setTimeout(look, failed ? 3000 : 700);
  };
  setTimeout(look, 500);
})();
