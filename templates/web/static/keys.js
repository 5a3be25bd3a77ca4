// Keys for lists and incidents: every one of them has a link or a form that does the same.
(() => {
  "use strict";
  const rows = () => [...document.querySelectorAll("main tbody tr th a[href], main tbody tr td:first-child + th a[href]")];

  function move(step) {
    const links = rows();
    const at = links.indexOf(document.activeElement);
    const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
    if (next) next.focus();
  }

  function act(verb) {
    const row = document.activeElement.closest("tr");
    const box = row && row.querySelector('input[name="id"]');
    if (box) {
      const back = encodeURIComponent(location.pathname + location.search);
      location.href = `/incidents/bulk?verb=${verb}&id=${box.value}&back=${back}`;
      return;
    }
    const form = document.querySelector(`main form[action^="/incidents/"][action$="/${verb}"]`);
    const field = form && form.querySelector("select, input:not([type=hidden]), button");
    if (field) field.focus();
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea, [contenteditable]");
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.target.type !== "checkbox")) return;
    const search = document.getElementById("search");
    const keys = {
      "/": () => search && search.focus(),
      j: () => move(1),
      k: () => move(-1),
      a: () => act("ack"),
      r: () => act("resolve"),
      "?": () => (location.href = "/keys"),
    };
    if (event.key in keys) {
      event.preventDefault();
      keys[event.key]();
    }
  });
})();
