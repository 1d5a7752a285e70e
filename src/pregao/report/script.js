// What is under the pointer, as text. The page works without it: all numbers are in the tables.
(() => {
  "use strict";
  const tip = document.getElementById("tip");
  const show = (event) => {
    const told = event.target.closest("[data-tip]");
    tip.classList.toggle("on", Boolean(told));
    if (!told) return;
    tip.textContent = told.dataset.tip;
    const box = tip.getBoundingClientRect();
    const right = event.clientX + 16 + box.width > window.innerWidth;
    tip.style.left = Math.max(4, event.clientX + (right ? -16 - box.width : 16)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY - box.height / 2, window.innerHeight - box.height - 4)) + "px";
  };
  document.addEventListener("pointermove", show, { passive: true });
  document.addEventListener("pointerdown", show, { passive: true });
  document.addEventListener("scroll", () => tip.classList.remove("on"), { passive: true });
})();
