"use strict";
(() => {
  const nodes = JSON.parse(document.getElementById("nodes").textContent);
  const stage = document.getElementById("stage");
  const picture = document.getElementById("picture");
  const details = document.getElementById("details");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const svg = picture.querySelector("svg");
  const width = Number(svg.getAttribute("width"));
  const height = Number(svg.getAttribute("height"));
  const origin = svg.viewBox.baseVal;
  const boxes = new Map();
  const view = { x: 0, y: 0, scale: 1 };
  const LEAST = 0.02, MOST = 8;
  let pinned = null;
  let matches = [];
  let match = -1;

  const show = () => {
    picture.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
  };

  const zoom = (factor, x, y) => {
    const scale = Math.min(MOST, Math.max(LEAST, view.scale * factor));
    view.x = x - (x - view.x) * (scale / view.scale);
    view.y = y - (y - view.y) * (scale / view.scale);
    view.scale = scale;
    show();
  };

  const zoomMiddle = (factor) => zoom(factor, stage.clientWidth / 2, stage.clientHeight / 2);

  const fit = () => {
    view.scale = Math.min(1.5, Math.max(LEAST, Math.min(stage.clientWidth / width, stage.clientHeight / height) * 0.98));
    view.x = (stage.clientWidth - width * view.scale) / 2;
    view.y = Math.max(0, (stage.clientHeight - height * view.scale) / 2);
    show();
  };

  const centre = (box) => {
    const area = box.getBBox();
    view.scale = Math.max(view.scale, 0.7);
    view.x = stage.clientWidth / 2 - (area.x - origin.x + area.width / 2) * view.scale;
    view.y = stage.clientHeight / 2 - (area.y - origin.y + area.height / 2) * view.scale;
    show();
  };

  const isSeen = (box) => {
    const area = box.getBoundingClientRect(), room = stage.getBoundingClientRect();
    return area.left >= room.left && area.right <= room.right && area.top >= room.top && area.bottom <= room.bottom;
  };

  const add = (parent, name, text, kind) => {
    const element = document.createElement(name);
    element.textContent = text;
    if (kind) element.className = kind;
    parent.append(element);
  };

  const tell = (id) => {
    const node = nodes[id];
    details.hidden = !node;
    for (const [name, box] of boxes) box.classList.toggle("current", name === id);
    if (!node) return;
    const area = boxes.get(id).getBoundingClientRect();
    details.classList.toggle("left", area.left + area.right > window.innerWidth);
    details.classList.toggle("passing", !pinned);
    const body = details.querySelector("div");
    body.replaceChildren();
    add(body, "h2", node.name || id);
    add(body, "p", `${id} \u00b7 ${node.type}`, "type");
    if (node.run) add(body, "p", node.run);
    if (node.error) add(body, "p", node.error, "bad");
    add(body, "h3", "Configuration");
    add(body, "pre", node.configuration);
    for (const visit of node.visits || []) {
      add(body, "h3", visit.title);
      if (visit.error) add(body, "p", visit.error, "bad");
      add(body, "pre", visit.text);
    }
  };

  const pin = (id) => {
    pinned = id;
    tell(id);
  };

  for (const box of svg.querySelectorAll("[data-node]")) {
    const id = box.dataset.node;
    if (!nodes[id]) continue;
    boxes.set(id, box);
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "button");
    box.setAttribute("aria-label", `${nodes[id].name || id}, ${nodes[id].type}`);
    box.addEventListener("pointerenter", () => { if (!pinned && !pointers.size) tell(id); });
    box.addEventListener("pointerleave", () => { if (!pinned) tell(null); });
    box.addEventListener("focus", () => { if (!box.matches(":focus-visible")) return; if (!isSeen(box)) centre(box); pin(id); });
    box.addEventListener("click", () => { if (!moved) pin(id); });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); centre(box); pin(id); }
    });
  }

  const pointers = new Map();
  let moved = false;
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) || 1 };
  };
  const at = (event) => {
    const area = stage.getBoundingClientRect();
    return { x: event.clientX - area.left, y: event.clientY - area.top };
  };

  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    if (!pointers.size) moved = false;
    pointers.set(event.pointerId, at(event));
  });
  window.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = at(event);
    const old = pointers.size === 2 ? spread() : null;
    if (Math.hypot(now.x - before.x, now.y - before.y) < 3 && !moved) return;
    moved = true;
    stage.classList.add("dragging");
    pointers.set(event.pointerId, now);
    if (old) {
      const together = spread();
      view.x += together.x - old.x;
      view.y += together.y - old.y;
      zoom(together.apart / old.apart, together.x, together.y);
    } else {
      view.x += now.x - before.x;
      view.y += now.y - before.y;
      show();
    }
  });
  const lift = (event) => {
    pointers.delete(event.pointerId);
    if (!pointers.size) stage.classList.remove("dragging");
  };
  window.addEventListener("pointerup", lift);
  window.addEventListener("pointercancel", lift);
  stage.addEventListener("click", (event) => { if (!moved && !event.target.closest("[data-node]")) pin(null); });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    const { x, y } = at(event);
    zoom(Math.exp(-event.deltaY * lines * 0.0015), x, y);
  }, { passive: false });

  const go = (step) => {
    if (!matches.length) return;
    match = (match + step + matches.length) % matches.length;
    centre(boxes.get(matches[match]));
    pin(matches[match]);
    found.textContent = `${match + 1} of ${matches.length}`;
  };
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    matches = wanted ? [...boxes.keys()].filter((id) => `${id}\n${nodes[id].name}\n${nodes[id].type}`.toLowerCase().includes(wanted)) : [];
    match = -1;
    for (const [id, box] of boxes) box.classList.toggle("match", matches.includes(id));
    found.textContent = wanted ? `${matches.length} found` : "";
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
  });

  const keys = {
    "+": () => zoomMiddle(1.25), "=": () => zoomMiddle(1.25), "-": () => zoomMiddle(0.8), "0": fit,
    ArrowLeft: () => { view.x += 60; show(); }, ArrowRight: () => { view.x -= 60; show(); },
    ArrowUp: () => { view.y += 60; show(); }, ArrowDown: () => { view.y -= 60; show(); },
    "/": () => search.focus(), Escape: () => pin(null),
  };
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search && event.key !== "Escape") return;
    const action = keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  document.getElementById("in").addEventListener("click", () => zoomMiddle(1.25));
  document.getElementById("out").addEventListener("click", () => zoomMiddle(0.8));
  document.getElementById("fit").addEventListener("click", fit);
  document.getElementById("close").addEventListener("click", () => pin(null));
  window.addEventListener("resize", fit);
  fit();
})();
