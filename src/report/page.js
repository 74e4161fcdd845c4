// Makes the figure and the table of a report interactive. The page is complete without it.
(function () {
"use strict";
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const state = {xlog: data.x.log, ylog: data.y.log, bands: true, off: new Set(), near: -1, at: null};

function make(name, attributes, parent, text) {
  const e = document.createElement(name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}
function draw(name, attributes, parent, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}
const colour = line => line.colour < 0 ? "var(--grey)" : "var(--c" + line.colour + ")";

// Numbers: thin spaces between thousands, few digits for small ones; ticks with k, M, G.
function number(v) {
  if (v === undefined || !isFinite(v)) return "\u2013";
  if (Math.abs(v) < 100 && v !== Math.floor(v)) return String(+v.toPrecision(3));
  return v.toFixed(0).replace(/\B(?=(\d{3})+$)/g, Math.abs(v) >= 1e4 ? "\u202f" : "");
}
function brief(v) {
  const a = Math.abs(v), f = x => String(+x.toPrecision(4));
  return a >= 1e9 ? f(v / 1e9) + "\u202fG" : a >= 1e6 ? f(v / 1e6) + "\u202fM" : a >= 1e4 ? f(v / 1e3) + "\u202fk" : f(v);
}

// Axes.
function step(span, count) {
  const p = Math.pow(10, Math.floor(Math.log10(span / count))), r = span / count / p;
  return p * (r < 1.5 ? 1 : r < 3.5 ? 2 : r < 7.5 ? 5 : 10);
}
function even(a, count) {
  const s = step(a.high - a.low, count), t = [];
  for (let k = Math.ceil(a.low / s - 1e-9); k <= a.high / s + 1e-9; k++) t.push([k * s, true]);
  return t;
}
function ticks(a, count) {
  if (!a.log) return even(a, count);
  const span = Math.log10(a.high / a.low), every = Math.max(Math.ceil((span - .5) / (count + 1)), 1);
  const fine = 3 * span <= 1.6 * count, t = [];
  for (let e = Math.floor(Math.log10(a.low) + 1e-9); e <= Math.log10(a.high) + 1e-9; e++)
    for (let d = 1; d <= 9; d++) {
      const v = d * Math.pow(10, e);
      if (v < a.low * (1 - 1e-9) || v > a.high * (1 + 1e-9) || (d > 1 && span > 6)) continue;
      t.push([v, d === 1 ? e % every === 0 : fine && (d === 2 || d === 5)]);
    }
  return t.filter(x => x[1]).length >= 3 ? t : even(a, count);
}
function share(a, v) {
  const x = Math.min(Math.max(v, a.low), a.high);
  return a.log ? Math.log(x / a.low) / Math.log(a.high / a.low) : (x - a.low) / (a.high - a.low);
}
const shown = () => data.lines.filter((l, i) => !state.off.has(i));

// The range of what is shown, the same in all panels. A very wide band does not stretch it.
function axes() {
  const x = {low: Infinity, high: -Infinity, log: state.xlog}, y = {low: Infinity, high: -Infinity, log: state.ylog};
  for (const l of shown()) for (const t of l.at) if (t) t.x.forEach((v, k) => {
    const m = t.y[k];
    if ((x.log && v <= 0) || (y.log && m <= 0)) return;
    x.low = Math.min(x.low, v); x.high = Math.max(x.high, v);
    y.low = Math.min(y.low, t.low ? Math.max(t.low[k], m / 3) : m);
    y.high = Math.max(y.high, t.high ? Math.min(t.high[k], 3 * m) : m);
    if (t.bound && y.log) y.low = Math.min(y.low, t.bound[k]);
  });
  if (!(x.low <= x.high)) Object.assign(x, {low: x.log ? 1 : 0, high: x.log ? 10 : 1});
  if (!(y.low <= y.high)) Object.assign(y, {low: 1, high: 10});
  const top = y.high;
  for (const r of data.references) for (const t of r.at) if (t) for (const v of t.y) if (v <= 1.3 * top) y.high = Math.max(y.high, v);
  if (!data.x.swept && !x.log) x.low = 0;
  if (x.low === x.high) { x.low = x.log ? x.low / 2 : x.low - 1; x.high = x.log ? x.high * 2 : x.high + 1; }
  if (y.log) {
    const r = (v, down) => {
      const p = Math.pow(10, Math.floor(Math.log10(v))), d = [1, 2, 5, 10].map(k => k * p);
      return down ? d.filter(k => k <= v * (1 + 1e-9)).pop() : d.find(k => k >= v * (1 - 1e-9));
    };
    y.low = r(y.low, true); y.high = r(y.high, false);
    if (!(y.high > y.low)) y.high = 10 * y.low;
  } else {
    y.low = Math.min(0, y.low);
    if (!(y.high > 0)) y.high = 1;
    const s = step(y.high - y.low, 5);
    y.high = Math.ceil(y.high / s - 1e-9) * s;
  }
  return {x, y};
}

function marker(line, x, y, parent) {
  const fill = colour(line), m = line.marker;
  if (m === 0) draw("circle", {cx: x, cy: y, r: 3.4, fill}, parent);
  else if (m === 1) draw("rect", {x: x - 3, y: y - 3, width: 6, height: 6, fill}, parent);
  else if (m === 2) draw("path", {d: `M${x} ${y - 4.2}l4 6.8h-8z`, fill}, parent);
  else if (m === 3) draw("path", {d: `M${x} ${y - 4.2}l4.2 4.2l-4.2 4.2l-4.2 -4.2z`, fill}, parent);
  else draw("path", {d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`, stroke: fill, "stroke-width": 2, fill: "none"}, parent);
}

// One panel: geometry g, axes a.
function points(t, a, px, py, key) {
  const out = [];
  t.x.forEach((v, k) => {
    if ((a.x.log && v <= 0) || (a.y.log && t[key][k] <= 0)) return;
    out.push(px(v).toFixed(1) + " " + py(t[key][k]).toFixed(1));
  });
  return out;
}
function panel(index, g, a, parent) {
  const svg = draw("svg", {viewBox: `0 0 ${g.width} ${g.height}`, tabindex: 0, role: "img",
    "aria-label": (data.panels[index] ? data.panels[index] + ": " : "") + data.y.name + " against " + data.x.name}, parent);
  const root = draw("g", {transform: `translate(${g.left} ${g.top})`}, svg);
  const pad = data.x.swept ? .03 : 0;
  const px = v => g.w * (pad + (1 - 2 * pad) * share(a.x, v)), py = v => g.h * (1 - share(a.y, v));
  if (data.panels[index]) draw("text", {x: g.w / 2, y: -9, "text-anchor": "middle", class: "name"}, root, data.panels[index]);
  frame(root, g, a, px, py, g.first);
  const order = shown().slice().reverse().sort((p, q) => (p.colour < 0 ? 0 : 1) - (q.colour < 0 ? 0 : 1));
  const group = new Map();
  if (state.bands) for (const l of order) if (l.colour >= 0 && l.at[index] && l.at[index].low) band(root, l, l.at[index], a, px, py);
  for (const l of order) if (l.at[index]) group.set(l, curve(root, l, l.at[index], a, px, py));
  const last = t => t && t.y.length ? py(t.y[t.y.length - 1]) : NaN;
  data.references.forEach((r, i) => reference(root, g, a, px, py, r.at[index], r.name, data.references.some((o, j) => { // another name is above
    const d = last(r.at[index]) - last(o.at[index]);
    return i !== j && d >= 0 && d < 18 && (d > 0 || j < i);
  })));
  draw("rect", {width: g.w, height: g.h, class: "frame"}, root);
  if (g.ends) ends(root, g, a, px, py, index);
  const cursor = draw("g", {}, root);
  const p = {svg, g, a, px, py, index, cursor, group};
  listen(p);
  return p;
}
function frame(root, g, a, px, py, first) {
  for (const [v, labelled] of ticks(a.y, Math.min(g.h / 42, 7))) {
    const y = py(v);
    if (labelled) draw("path", {d: `M0 ${y}h${g.w}`, class: "grid"}, root);
    draw("path", {d: `M0 ${y}h${labelled ? -5 : -3}`, class: "tick"}, root);
    if (labelled) draw("text", {x: -8, y: y + 4, "text-anchor": "end", class: "axis"}, root, brief(v));
  }
  let end = -Infinity;
  const list = data.x.swept ? places().map(v => [v, true]) : ticks(a.x, g.w / 75);
  for (const [v, labelled] of list) {
    const x = px(v), text = brief(v), half = 3.4 * text.length;
    const fits = labelled && x - half > end;
    draw("path", {d: `M${x} ${g.h}v${fits ? 5 : 3}`, class: "tick"}, root);
    if (!fits) continue;
    draw("text", {x, y: g.h + 19, "text-anchor": "middle", class: "axis"}, root, text);
    end = x + half + 5;
  }
  draw("text", {x: g.w / 2, y: g.h + 37, "text-anchor": "middle", class: "axis"}, root, data.x.name);
  if (first) draw("text", {transform: `translate(${14 - g.left} ${g.h / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis"}, root, data.y.name);
}
function places() {
  const all = new Set();
  for (const l of data.lines) for (const t of l.at) if (t) for (const v of t.x) if (!state.xlog || v > 0) all.add(v);
  return [...all].sort((p, q) => p - q);
}
function reference(root, g, a, px, py, t, name, below) {
  if (!t) return;
  let list = t.x.map((v, k) => [v, t.y[k]]);
  if (!data.x.swept && list.length === 2) { // straight from the first round to the last
    const from = a.x.log ? a.x.low : list[0][0], rate = k => list[0][1] + (list[1][1] - list[0][1]) * (k - list[0][0]) / (list[1][0] - list[0][0]);
    const n = 64, last = list[1][0];
    list = Array.from({length: n + 1}, (_, k) => a.x.log ? from * Math.pow(last / from, k / n) : from + (last - from) * k / n).map(v => [v, rate(v)]);
  }
  const inside = list.filter(p => p[1] <= a.y.high && (!a.y.log || p[1] >= a.y.low));
  if (inside.length < 2) return;
  draw("path", {d: "M" + inside.map(p => px(p[0]).toFixed(1) + " " + py(p[1]).toFixed(1)).join(" "), class: "uniform"}, root);
  const [v, m] = inside[Math.floor(.8 * (inside.length - 1))], above = px(v) > 95;
  draw("text", {x: px(v) + (above ? -6 : 8), y: py(m) + (above && !below ? -4 : 12), "text-anchor": above ? "end" : "start", class: "axis halo"}, root, name);
}
function band(root, l, t, a, px, py) {
  const up = points(t, a, px, py, "high"), down = points(t, a, px, py, "low").reverse();
  draw("path", {d: "M" + up.concat(down).join(" ") + "z", fill: colour(l), "fill-opacity": data.lines.length > 4 ? .11 : .17, class: "band"}, root);
}
function curve(root, l, t, a, px, py) {
  const g = draw("g", {}, root), list = points(t, a, px, py, "y");
  if (!list.length) return g;
  draw("path", Object.assign({d: "M" + list.join(" "), stroke: colour(l), class: "curve"}, t.dashed ? {"stroke-dasharray": "6 3"} : {}), g);
  if (t.bound && data.x.swept) draw("path", {d: "M" + points(t, a, px, py, "bound").join(" "), stroke: colour(l), class: "curve", "stroke-dasharray": "1 4"}, g);
  const every = data.x.swept || t.x.length <= 12 ? 1 : Math.floor(t.x.length / 6), i = data.lines.indexOf(l);
  for (let k = every > 1 ? i * 5 % every : 0; k < t.x.length; k += every)
    if (!(a.x.log && t.x[k] <= 0) && !(a.y.log && t.y[k] <= 0)) marker(l, +px(t.x[k]).toFixed(1), +py(t.y[k]).toFixed(1), g);
  return g;
}
// Names at the ends of the lines, moved apart.
function ends(root, g, a, px, py, index) {
  const list = shown().filter(l => l.at[index]).map(l => {
    const t = l.at[index], k = t.x.length - 1;
    return {l, x: px(t.x[k]), end: py(t.y[k]), y: py(t.y[k])};
  }).sort((p, q) => p.y - q.y);
  for (let i = 1; i < list.length; i++) list[i].y = Math.max(list[i].y, list[i - 1].y + 15);
  for (let i = list.length - 1, most = g.h; i >= 0; most = list[i--].y - 15) list[i].y = Math.min(list[i].y, most);
  for (const p of list) {
    draw("path", {d: `M${p.x + 3} ${p.end}L${g.w + 14} ${p.y}`, class: "thread"}, root);
    marker(p.l, g.w + 19, p.y, root);
    draw("text", {x: g.w + 28, y: p.y + 4}, root, p.l.name);
  }
}

// The value under the pointer.
function nearest(list, v, log) {
  let best = 0;
  const d = x => log ? Math.abs(Math.log(Math.max(x, 1e-300) / v)) : Math.abs(x - v);
  list.forEach((x, k) => { if (d(x) < d(list[best])) best = k; });
  return best;
}
function grid(p) { // the places of x in a panel
  const all = new Set();
  for (const l of shown()) if (l.at[p.index]) for (const v of l.at[p.index].x) if (!(p.a.x.log && v <= 0)) all.add(v);
  return [...all].sort((q, r) => q - r);
}
function show(p, v, y) {
  const rows = [];
  for (const l of shown()) {
    const t = l.at[p.index];
    if (!t) continue;
    const k = nearest(t.x, v, p.a.x.log);
    if (data.x.swept && t.x[k] !== v) continue;
    rows.push({l, x: t.x[k], y: t.y[k], low: t.low && t.low[k], high: t.high && t.high[k]});
  }
  if (!rows.length) return hide(p);
  rows.sort((q, r) => r.y - q.y);
  let near = rows[0];
  for (const r of rows) if (y !== null && Math.abs(p.py(r.y) - y) < Math.abs(p.py(near.y) - y)) near = r;
  p.cursor.replaceChildren();
  draw("path", {d: `M${p.px(rows[0].x)} 0v${p.g.h}`, class: "rule"}, p.cursor);
  for (const r of rows) draw("circle", {cx: p.px(r.x), cy: p.py(r.y), r: r === near ? 5 : 3.5, fill: colour(r.l), stroke: "var(--paper)"}, p.cursor);
  tip(p, rows, near);
}
function tip(p, rows, near) {
  const box = $("tip");
  box.replaceChildren();
  make("b", {}, box, (data.panels[p.index] ? data.panels[p.index] + ", " : "") + data.x.name.replace(/ \(.*/, "") + " " + number(rows[0].x));
  const table = make("table", {}, box);
  for (const r of rows) {
    const tr = make("tr", r === near ? {class: "near"} : {}, table);
    make("i", {}, make("td", {}, tr)).style.background = colour(r.l);
    make("td", {class: "t"}, tr, r.l.name);
    make("td", {}, tr, number(r.y));
    make("td", {class: "soft"}, tr, r.low === undefined ? "" : number(r.low) + " to " + number(r.high));
  }
  box.style.display = "block";
  const at = p.svg.getBoundingClientRect(), host = $("chart").getBoundingClientRect(), scale = at.width / p.g.width;
  const x = at.left - host.left + (p.g.left + p.px(rows[0].x)) * scale;
  const left = x + box.offsetWidth + 16 < host.width ? x + 14 : Math.max(x - box.offsetWidth - 14, 4);
  box.style.left = Math.min(left, host.width - box.offsetWidth - 4) + "px";
  // on a phone below the panel, so that the curves stay in sight
  box.style.top = (host.width < 620 ? at.bottom - host.top : at.top - host.top + (p.g.top + 6) * scale) + "px";
}
function hide(p) { p.cursor.replaceChildren(); $("tip").style.display = "none"; }
function listen(p) {
  const value = e => {
    const r = p.svg.getBoundingClientRect(), scale = r.width / p.g.width;
    const list = grid(p);
    if (!list.length) return;
    const x = (e.clientX - r.left) / scale - p.g.left;
    let best = list[0];
    for (const v of list) if (Math.abs(p.px(v) - x) < Math.abs(p.px(best) - x)) best = v;
    p.key = list.indexOf(best);
    show(p, best, (e.clientY - r.top) / scale - p.g.top);
  };
  p.svg.addEventListener("pointermove", value);
  p.svg.addEventListener("pointerdown", value);
  p.svg.addEventListener("pointerleave", () => hide(p));
  p.svg.addEventListener("blur", () => hide(p));
  p.svg.addEventListener("keydown", e => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[e.key], list = grid(p);
    if (!by || !list.length) return;
    e.preventDefault();
    p.key = Math.min(Math.max((p.key === undefined ? list.length : p.key) + by, 0), list.length - 1);
    show(p, list[p.key], null);
  });
}

// All panels, as wide as the page.
let panels = [];
function columns(n, width) {
  const most = width < 620 ? 1 : width < 900 ? 2 : 3;
  if (n === 4 && most > 1) return 2;
  if (n === 3 && width > 660) return 3;
  if (n <= most) return n;
  for (let c = most; c > 1; c--) if (n % c === 0) return c;
  return most;
}
function render(width) {
  const chart = $("chart"), total = width || chart.clientWidth, n = data.panels.length, c = columns(n, total);
  if (!total) return;
  const box = document.querySelector(".panels");
  box.replaceChildren();
  hideTip();
  box.style.gridTemplateColumns = `repeat(${c},minmax(0,1fr))`;
  const outer = (total - 16 * (c - 1)) / c, a = axes();
  const longest = Math.max(0, ...shown().map(l => l.name.length)) * 6.6 + 34;
  const direct = n === 1 && longest < .36 * total && shown().length <= 20;
  panels = data.panels.map((name, i) => {
    const left = 62, right = direct ? longest : 20, top = name ? 24 : 10, w = outer - left - right;
    let h = Math.max(Math.min(w * (n === 1 ? .56 : .68), 460), 200);
    if (direct) h = Math.max(h, 15 * shown().length);
    return panel(i, {left, top, w, h, width: outer, height: h + top + 46, ends: direct, first: i % c === 0}, a, box);
  });
}
function hideTip() { $("tip").style.display = "none"; }

// Controls.
function pressed(parent, text, title, get, set) {
  const b = make("button", {type: "button", title, "aria-pressed": get()}, parent, text);
  b.addEventListener("click", () => { set(); b.setAttribute("aria-pressed", get()); render(); });
  return b;
}
function legend(parent) {
  const box = make("div", {class: "legend", role: "group", "aria-label": "show or hide lines"}, parent), buttons = [];
  data.lines.forEach((l, i) => {
    const b = make("button", {type: "button", "aria-pressed": true, title: "show or hide; double click: only this one"}, box);
    const s = draw("svg", {viewBox: "0 0 28 14", "aria-hidden": true}, b);
    draw("path", Object.assign({d: "M0 7h28", stroke: colour(l), "stroke-width": 2}, l.at.every(t => !t || t.dashed) ? {"stroke-dasharray": "6 3"} : {}), s);
    marker(l, 14, 7, s);
    make("span", {}, b, l.name);
    b.addEventListener("click", () => { state.off.has(i) ? state.off.delete(i) : state.off.add(i); update(); });
    b.addEventListener("dblclick", () => { state.off = new Set(data.lines.map((_, k) => k).filter(k => k !== i)); update(); });
    const fade = on => panels.forEach(p => p.group.forEach((g, m) => g.classList.toggle("away", on && m !== l)));
    b.addEventListener("pointerenter", () => fade(true));
    b.addEventListener("pointerleave", () => fade(false));
    buttons.push(b);
  });
  function update() { buttons.forEach((b, i) => b.setAttribute("aria-pressed", !state.off.has(i))); render(); }
  return () => { state.off.clear(); update(); };
}
function controls() {
  const box = $("controls"), all = legend(box), tools = make("div", {class: "tools"}, box);
  const positive = key => data.lines.some(l => l.at.some(t => t && t[key].some(v => v > 0)));
  const every = data.lines.every(l => l.at.every(t => !t || t.y.every((v, k) => v > 0 || t.x[k] === 0)));
  if (positive("x")) pressed(tools, "log x", "logarithmic x axis", () => state.xlog, () => { state.xlog = !state.xlog; }).id = "xlog";
  if (every) pressed(tools, "log y", "logarithmic y axis", () => state.ylog, () => { state.ylog = !state.ylog; }).id = "ylog";
  if (data.lines.some(l => l.at.some(t => t && t.low)))
    pressed(tools, "bands", "95 % intervals of the mean", () => state.bands, () => { state.bands = !state.bands; });
  if (data.lines.length > 1) make("button", {type: "button"}, tools, "all lines").addEventListener("click", all);
  box.hidden = false;
}

// Sorting.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], first = [...body.rows];
  const key = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.v !== undefined ? +cell.dataset.v : cell.classList.contains("n") ? Infinity : cell.textContent.trim();
  };
  const compare = (p, q) => typeof p === "number" && typeof q === "number" ? p - q || 0 : typeof p === "number" ? -1 : typeof q === "number" ? 1 : p.localeCompare(q);
  heads.forEach((th, i) => {
    const b = make("button", {type: "button"}, null, th.textContent);
    th.replaceChildren(b);
    b.addEventListener("click", () => {
      const now = th.getAttribute("aria-sort"), next = now === "ascending" ? "descending" : now === "descending" ? null : "ascending";
      heads.forEach(h => h.removeAttribute("aria-sort"));
      let rows = first.slice();
      if (next) {
        th.setAttribute("aria-sort", next);
        rows.sort((p, q) => (next === "ascending" ? 1 : -1) * compare(key(p, i), key(q, i)));
      }
      table.classList.toggle("sorted", !!next);
      body.append(...rows);
    });
  });
}

// Light and dark.
function theme() {
  const b = make("button", {type: "button", id: "theme", title: "light or dark"}, document.querySelector("header"));
  const root = document.documentElement, dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
  const name = () => { b.textContent = dark() ? "light" : "dark"; };
  b.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme:dark)").addEventListener("change", name);
  name();
}

const chart = $("chart");
chart.classList.remove("static");
chart.replaceChildren();
make("div", {class: "panels"}, chart);
make("div", {id: "tip", role: "status"}, chart);
$("caption").hidden = false;
theme();
controls();
render();
document.querySelectorAll("table.sortable").forEach(sortable);
let last = chart.clientWidth;
new ResizeObserver(() => { if (chart.clientWidth !== last) { last = chart.clientWidth; render(); } }).observe(chart);
addEventListener("beforeprint", () => { document.querySelectorAll("#promises details").forEach(d => { d.open = true; }); render(680); });
addEventListener("afterprint", () => render());
})();
