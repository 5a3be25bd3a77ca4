// Keep a page as the store is: follow the changes of incidents, and fetch the page again when one concerns it.
// A page that is hidden does not follow, since a browser opens few connections to one host; nor is a page changed in
// which somebody is filling in a form: it says instead that there is something new.
(() => {
  "use strict";
  const RETRY_MS = 30000;
  const GATHER_MS = 300;
  const LOST_MS = 10000;
  let source = null;
  let gathering = null;
  let losing = null;

  const main = () => document.getElementById("main");
  const isLive = () => "live" in main().dataset;

  function isInUse() {
    const forms = [...main().querySelectorAll("form")];
    return forms.some((form) => form.contains(document.activeElement) || [...form.elements].some(isChanged));
  }

  function isChanged(field) {
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    if (field.tagName === "SELECT") {
      const options = [...field.options];
      const first = options.some((option) => option.defaultSelected) ? null : options[0];
      return options.some((option) => option.selected !== (option.defaultSelected || option === first));
    }
    return "defaultValue" in field && field.type !== "hidden" && field.value !== field.defaultValue;
  }

  async function refresh() {
    gathering = null;
    if (isInUse()) {
      document.getElementById("changed").hidden = false;
      return;
    }
    const address = location.pathname + location.search;
    await htmx.ajax("GET", address, { source: "#main", target: "#main", select: "#main", swap: "outerMorph" });
    if (!isLive()) disconnect();
  }

  function concerns(change) {
    return !("incident" in main().dataset) || main().dataset.incident === String(change.incident);
  }

  function gather() {
    gathering = gathering || setTimeout(refresh, GATHER_MS);
  }

  function lose(isLost) {
    const note = document.getElementById("lost");
    if (note) note.hidden = !isLost;
    if (!isLost) clearTimeout(losing);
    losing = isLost ? losing : null;
  }

  function connect() {
    if (source || document.hidden || !isLive()) return;
    source = new EventSource(`/api/v1/events?after=${main().dataset.live}`);
    source.addEventListener("change", (event) => {
      if (concerns(JSON.parse(event.data))) gather();
    });
    source.addEventListener("reset", gather);
    source.addEventListener("open", () => lose(false));
    source.addEventListener("error", () => {
      losing = losing || setTimeout(lose, LOST_MS, true);
      if (source && source.readyState === EventSource.CLOSED) {
        disconnect();
        setTimeout(connect, RETRY_MS);
      }
    });
  }

  function disconnect() {
    if (source) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", connect);
})();
