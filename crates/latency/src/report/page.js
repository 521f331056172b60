/* Shows and hides: cells in the picture of distributions, published figures in the table. Without
   this script all of them are shown. */
"use strict";
(function () {
  const boxes = Array.from(document.querySelectorAll("[data-shows]"));
  function show(box) {
    document.querySelectorAll("#tails [data-cell=\"" + box.dataset.shows + "\"]")
      .forEach((line) => line.classList.toggle("off", !box.checked));
  }
  for (const box of boxes) box.addEventListener("change", () => show(box));
  for (const button of document.querySelectorAll("[data-choose]")) {
    button.addEventListener("click", function () {
      for (const box of boxes) {
        box.checked = button.dataset.choose === "all";
        show(box);
      }
    });
  }
  const theirs = document.querySelector("[data-theirs]");
  if (theirs) {
    theirs.addEventListener("change", function () {
      document.getElementById("figures").classList.toggle("hide-theirs", !theirs.checked);
    });
  }
  document.body.dataset.ready = String(boxes.length);
})();
