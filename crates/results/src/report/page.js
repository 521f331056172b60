/* Draws the charts again at the width of the window, zooms them together and reads values.
   The picture is the one that the page came with; without this script that one stays. */
"use strict";
(function () {
  const charts = JSON.parse(document.getElementById("data").textContent);
  const figures = Array.from(document.querySelectorAll("figure.chart"));
  const reset = document.getElementById("reset");
  if (!charts.length) { document.body.dataset.chartsDrawn = "0"; return; }
  const whole = charts[0].span;
  let view = whole.slice();

  function bytes(text) {
    const plain = atob(text.replace(/-/g, "+").replace(/_/g, String.fromCharCode(47)));
    return Uint8Array.from(plain, (c) => c.charCodeAt(0)).buffer;
  }
  function numbers(text, read) {
    const data = new DataView(bytes(text)), out = new Float64Array(data.byteLength / 4);
    for (let i = 0; i < out.length; i++) out[i] = read(data, 4 * i);
    return out;
  }
  for (const chart of charts) {
    for (const trace of chart.traces) {
      const ticks = numbers(trace.times, (d, at) => d.getUint32(at, true));
      trace.t = ticks.map((tick) => trace.from + tick * trace.tick);
      trace.v = numbers(trace.values, (d, at) => d.getFloat32(at, true));
    }
  }

  /* The index of the first time that is not before `time`. */
  function firstFrom(times, time) {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  function step(span, wanted) {
    const rough = span / Math.max(wanted, 1), power = Math.pow(10, Math.floor(Math.log10(rough)));
    for (const factor of [1, 2, 2.5, 5]) if (factor * power >= rough * 0.999) return factor * power;
    return 10 * power;
  }
  function ticks(low, high, wanted) {
    const by = step(high - low, wanted), out = [];
    if (!(by > 0 && isFinite(by))) return out;
    let decimals = 0;
    while (decimals < 12) {
      const scaled = by * Math.pow(10, decimals);
      if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) break;
      decimals++;
    }
    const first = Math.ceil(low / by - 1e-9);
    for (let i = 0; i < 100; i++) {
      const value = (first + i) * by;
      if (value > high + by * 1e-9) break;
      out.push([value, (value + 0).toFixed(decimals).replace("-", "\u2212")]);
    }
    return out;
  }

  /* Values in view: as the page has it when all is shown, else by what is seen. */
  function range(chart) {
    if (view[0] === whole[0] && view[1] === whole[1]) return chart.range;
    let low = Infinity, high = -Infinity;
    for (const trace of chart.traces) {
      const begin = Math.max(0, firstFrom(trace.t, view[0]) - 1);
      const end = Math.min(trace.t.length, firstFrom(trace.t, view[1]) + 1);
      for (let i = begin; i < end; i++) {
        const value = trace.v[i];
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (low > high) return chart.range;
    const reach = Math.max(high - low, Math.abs(high) * 1e-3, 1e-9);
    const [seenLow, seenHigh] = [low, high];
    for (const bound of chart.bounds) {
      if (bound.to < view[0] || bound.from > view[1]) continue;
      for (const value of [bound.low, bound.high]) {
        if (value === null || value < seenLow - reach || value > seenHigh + reach) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    const beyond = margin(low, high);
    return [low - beyond, high + beyond];
  }

  /* The foot of a text that begins at `begin`: at `y`, or below others that are in its way. */
  function freeFoot(texts, begin, y, text) {
    const end = begin + text.length * 6.9;
    const isInTheWay = (of) => of.begin < end && begin < of.end && Math.abs(of.foot - y) < 13;
    for (let other; (other = texts.find(isInTheWay)); ) y = other.foot + 13;
    texts.push({ begin, end, foot: y });
    return y;
  }

  /* What an axis has beyond the values on it: so much that its numbers have five digits and not ten, and
     that a line without any change looks like one. */
  function margin(low, high) {
    const size = Math.max(Math.abs(low), Math.abs(high));
    if (low === high) return size === 0 ? 1 : size * 0.05;
    return Math.max((high - low) * 0.07, size * 1e-4);
  }

  /* First, lowest, highest and last value of each column of pixels. */
  function line(trace, x, y, columns) {
    const begin = Math.max(0, firstFrom(trace.t, view[0]) - 1);
    const end = Math.min(trace.t.length, firstFrom(trace.t, view[1]) + 1);
    const buckets = end - begin > 4 * columns ? columns : 0;
    let path = "", down = false;
    function to(i) {
      const value = trace.v[i];
      if (isFinite(value)) path += (down ? "L" : "M") + x(trace.t[i]).toFixed(1) + " " + y(value).toFixed(1);
      down = isFinite(value);
    }
    if (!buckets) {
      for (let i = begin; i < end; i++) to(i);
      return path;
    }
    const bucket = (i) => Math.floor((trace.t[i] - view[0]) / (view[1] - view[0]) * buckets);
    for (let i = begin; i < end;) {
      const here = bucket(i);
      let first = -1, low = -1, high = -1, last = i, next = i;
      for (; next < end && bucket(next) === here; next++) {
        if (isNaN(trace.v[next])) continue;
        if (first < 0) { first = low = high = next; }
        if (trace.v[next] < trace.v[low]) low = next;
        if (trace.v[next] > trace.v[high]) high = next;
        last = next;
      }
      const kept = first < 0 ? [i] : [first, low, high, last].sort((a, b) => a - b);
      kept.forEach((index, place) => { if (index !== kept[place - 1]) to(index); });
      i = next;
    }
    return path;
  }

  /* Labels of the events in view, each in the first lane where it stands free; -1 where there is none. */
  function arrange(markers, x, left, edge, width) {
    const lanes = [], all = [];
    for (const marker of markers) {
      const at = x(marker.at);
      if (at < left || at > edge) continue;
      const fits = (room) => Math.floor(room / 6.9);
      const start = marker.text.length <= fits(width - at) || width - at > at;
      const room = fits(start ? width - at : at);
      const text = marker.text.length <= room ? marker.text : marker.text.slice(0, Math.max(0, room - 1)) + "\u2026";
      const long = text.length * 6.9 + 10, from = start ? at : at - long, to = start ? at + long : at;
      let lane = lanes.findIndex((taken) => taken.every(([a, b]) => to <= a || b <= from));
      if (lane < 0 && lanes.length < 5) lane = lanes.push([]) - 1;
      if (lane >= 0) lanes[lane].push([from, to]);
      all.push({ marker, at, text, start, lane });
    }
    return { all, lanes: lanes.length };
  }

  function draw(index) {
    const chart = charts[index], svg = figures[index].querySelector("svg.plot");
    const width = Math.max(280, Math.round(svg.clientWidth || 960)), narrow = width < 560;
    const left = 62, right = 10, edge = width - right;
    const x = (t) => left + (t - view[0]) / (view[1] - view[0]) * (edge - left);
    const labels = arrange(chart.markers, x, left, edge, width);
    const top = 10 + 14 * labels.lanes, bottom = top + (narrow ? 162 : 192), height = bottom + 36;
    const [low, high] = range(chart);
    const y = (v) => top + (high - v) / (high - low) * (bottom - top);
    const inside = (at) => Math.min(edge + 5, Math.max(left - 5, at));

    const parts = document.createDocumentFragment();
    function add(parent, kind, attributes, text) {
      const element = document.createElementNS(svg.namespaceURI, kind);
      for (const name in attributes) element.setAttribute(name, attributes[name]);
      if (text !== undefined) element.textContent = text;
      parent.appendChild(element);
      return element;
    }
    const clip = add(parts, "clipPath", { id: "clip" + index });
    add(clip, "rect", { x: left, y: top, width: edge - left, height: bottom - top });

    for (const [value, text] of ticks(low, high, (bottom - top) / 42)) {
      add(parts, "path", { class: "grid", d: "M" + left + " " + y(value).toFixed(1) + "H" + edge });
      add(parts, "text", { class: "tick", x: left - 7, y: y(value) + 4, "text-anchor": "end" }, text);
    }
    for (const [value, text] of ticks(view[0], view[1], (edge - left) / (narrow ? 64 : 90))) {
      add(parts, "path", { class: "grid", d: "M" + x(value).toFixed(1) + " " + top + "V" + bottom });
      add(parts, "text", { class: "tick", x: x(value), y: bottom + 16, "text-anchor": "middle" }, text);
    }
    add(parts, "path", { class: "axis", d: "M" + left + " " + top + "V" + bottom + "H" + edge });
    add(parts, "text", { class: "name", x: (left + edge) / 2, y: height - 4, "text-anchor": "middle" }, "scenario time (s)");
    add(parts, "text", { class: "name", transform: "translate(12 " + (top + bottom) / 2 + ") rotate(-90)", "text-anchor": "middle" }, chart.axis);

    const clipped = add(parts, "g", { "clip-path": "url(#clip" + index + ")" });
    for (const bound of chart.bounds) {
      const from = inside(x(bound.from)), long = Math.max(1, inside(x(bound.to)) - from);
      const lowY = bound.low === null ? null : y(bound.low), highY = bound.high === null ? null : y(bound.high);
      const both = lowY !== null && highY !== null, up = both ? highY : lowY !== null ? lowY : highY - 7;
      add(clipped, "rect", { class: (both ? "allowed " : "wrong ") + bound.colour, x: from, y: up, width: long, height: both ? lowY - highY : 7 });
      for (const at of [lowY, highY]) {
        if (at !== null) add(clipped, "path", { class: "bound " + bound.colour, d: "M" + from.toFixed(1) + " " + at.toFixed(1) + "h" + long.toFixed(1) });
      }
    }
    for (const trace of chart.traces) {
      add(clipped, "path", { class: "trace " + trace.colour, "stroke-width": trace.width, d: line(trace, x, y, Math.round((edge - left) * 2)) });
    }
    const texts = [];
    for (const bound of chart.bounds) {
      const at = y(bound.high !== null ? bound.high : bound.low);
      if (at < top || at > bottom || bound.to < view[0] || bound.from > view[1]) continue;
      const begin = Math.max(x(bound.from), left) + 6;
      const foot = freeFoot(texts, begin, at - top < 16 ? at + 13 : at - 5, bound.text);
      add(parts, "text", { class: "note " + bound.colour, x: begin, y: foot }, bound.text);
    }
    /* All lines before all texts, whose edges then keep the lines of others off them. */
    const foot = (lane) => lane < 0 ? top : top - 5 - 14 * lane;
    for (const { marker, at, lane } of labels.all) {
      add(parts, "path", { class: "event " + marker.colour, d: "M" + at.toFixed(1) + " " + foot(lane) + "V" + bottom });
    }
    for (const { marker, at, text, start, lane } of labels.all) {
      if (lane < 0) continue;
      add(parts, "text", { class: "note " + marker.colour, x: start ? at + 3 : at - 3, y: foot(lane), "text-anchor": start ? "start" : "end" }, text);
    }
    chart.cross = add(parts, "path", { class: "cross", d: "" });
    chart.chosen = add(parts, "rect", { class: "chosen", x: 0, y: top, width: 0, height: bottom - top });

    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.replaceChildren(parts);
    chart.place = { x, left, edge, top, bottom, width };
  }

  function drawAll() {
    charts.forEach((chart, index) => draw(index));
    reset.disabled = view[0] === whole[0] && view[1] === whole[1];
    document.body.dataset.chartsDrawn = String(charts.length);
    document.body.dataset.view = view.join(" ");
  }
  function show(from, to) {
    view = [Math.max(whole[0], from), Math.min(whole[1], to)];
    drawAll();
  }

  /* Scenario time under the pointer. */
  function timeAt(index, event) {
    const box = figures[index].querySelector("svg.plot").getBoundingClientRect(), place = charts[index].place;
    const x = (event.clientX - box.left) / box.width * place.width;
    const share = (Math.min(place.edge, Math.max(place.left, x)) - place.left) / (place.edge - place.left);
    return view[0] + share * (view[1] - view[0]);
  }
  function written(value) {
    if (!isFinite(value)) return "\u2013";
    const digits = Math.max(0, 4 - Math.floor(Math.log10(Math.max(Math.abs(value), 1e-3))));
    return value.toFixed(Math.min(digits, 6)).replace("-", "\u2212");
  }
  /* A point holds its value until the next row; a ramp goes on rising. */
  function valueAt(chart, trace, at, time) {
    if (!chart.ramp || at + 1 >= trace.t.length) return trace.v[at];
    const share = (time - trace.t[at]) / (trace.t[at + 1] - trace.t[at]);
    return trace.v[at] + share * (trace.v[at + 1] - trace.v[at]);
  }
  function read(time) {
    charts.forEach(function (chart, index) {
      const place = chart.place, x = place.x(time).toFixed(1);
      chart.cross.setAttribute("d", "M" + x + " " + place.top + "V" + place.bottom);
      const legend = figures[index].querySelector(".legend");
      legend.querySelector(".at").textContent = time.toFixed(3) + " s";
      chart.traces.forEach(function (trace, number) {
        const at = firstFrom(trace.t, time + 1e-9) - 1;
        const text = at < 0 ? "\u2013" : written(valueAt(chart, trace, at, time)) + (chart.unit ? " " + chart.unit : "");
        legend.querySelector("[data-trace=\"" + number + "\"]").textContent = text;
      });
    });
  }
  function leave() {
    charts.forEach(function (chart, index) {
      chart.cross.setAttribute("d", "");
      figures[index].querySelectorAll(".legend output, .legend .at").forEach((e) => { e.textContent = ""; });
    });
  }

  let begin = null;
  function choose(from, to) {
    for (const chart of charts) {
      const a = chart.place.x(Math.min(from, to)), b = chart.place.x(Math.max(from, to));
      chart.chosen.setAttribute("x", a);
      chart.chosen.setAttribute("width", b - a);
    }
  }
  figures.forEach(function (figure, index) {
    const svg = figure.querySelector("svg.plot");
    svg.addEventListener("pointerdown", function (event) {
      if (event.button !== 0) return;
      begin = { time: timeAt(index, event), x: event.clientX };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", function (event) {
      const time = timeAt(index, event);
      read(time);
      if (begin) choose(begin.time, time);
    });
    svg.addEventListener("pointerup", function (event) {
      if (!begin) return;
      const from = begin, to = timeAt(index, event);
      begin = null;
      if (Math.abs(event.clientX - from.x) > 6) show(Math.min(from.time, to), Math.max(from.time, to));
      else choose(to, to);
    });
    svg.addEventListener("pointercancel", function () { begin = null; choose(view[0], view[0]); });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("dblclick", () => show(whole[0], whole[1]));
  });
  reset.addEventListener("click", () => show(whole[0], whole[1]));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") show(whole[0], whole[1]); });
  window.addEventListener("resize", drawAll);
  drawAll();
})();
