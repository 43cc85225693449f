// Values under the pointer, read from the table that stands behind the figures; and a command that
// can be copied. Without this the page has the same contents.
(function () {
  'use strict';
  var SVG = 'http://www.w3.org/2000/svg';

  // A picture's title would be shown over all of it.
  document.querySelectorAll('svg[role=img]').forEach(function (svg) {
    var title = svg.querySelector('title'), desc = svg.querySelector('desc');
    svg.setAttribute('aria-label', title.textContent);
    svg.setAttribute('aria-describedby', desc.id);
    svg.removeAttribute('aria-labelledby');
    title.remove();
  });

  function readTable() {
    var table = document.querySelector('.curve-values'), keys = {}, lines = [];
    if (!table) return null;
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, i) {
      if (cell.dataset.k) keys[cell.dataset.k] = i;
    });
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      var line = lines[row.dataset.g] || (lines[row.dataset.g] = { name: row.cells[0].textContent, rows: [] });
      line.rows.push(Array.prototype.map.call(row.cells, function (c) { return c.textContent; }));
    });
    return { keys: keys, lines: lines };
  }

  function place(range, log, v) {
    var p = log ? Math.log(v / range[0]) / Math.log(range[1] / range[0]) : (v - range[0]) / (range[1] - range[0]);
    return Math.min(1, Math.max(0, p));
  }

  function numbers(text) { return text.split(' ').map(Number); }

  function add(parent, name, attributes) {
    var node = document.createElementNS(SVG, name);
    Object.keys(attributes).forEach(function (k) { node.setAttribute(k, attributes[k]); });
    return parent.appendChild(node);
  }

  function attach(svg, data) {
    var box = numbers(svg.dataset.box), xr = numbers(svg.dataset.xr), yr = numbers(svg.dataset.yr);
    var kx = data.keys[svg.dataset.x], ky = data.keys[svg.dataset.y], tip, marks;

    function hide() {
      if (tip) { tip.remove(); marks.remove(); tip = null; }
    }

    function nearest(line, x) {
      var best = null;
      line.rows.forEach(function (row) {
        if (!isFinite(row[kx]) || !isFinite(row[ky])) return;
        if (!best || Math.abs(row[kx] - x) < Math.abs(best[kx] - x)) best = row;
      });
      return best;
    }

    function show(event) {
      var frame = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / frame.width;
      var px = (event.clientX - frame.left) * scale;
      hide();
      if (px < box[0] - 6 || px > box[2] + 6) return;
      var x = xr[0] + (xr[1] - xr[0]) * Math.min(1, Math.max(0, (px - box[0]) / (box[2] - box[0])));
      marks = add(svg, 'g', {});
      tip = document.createElement('div');
      tip.className = 'tip';
      add(marks, 'path', { 'class': 'cursor', d: 'M' + px + ' ' + box[1] + 'V' + box[3] });
      var head = tip.appendChild(document.createElement('div')), near = null;
      data.lines.forEach(function (line, g) {
        var row = nearest(line, x), div;
        if (!row) return;
        if (near === null || Math.abs(row[kx] - x) < Math.abs(near - x)) near = row[kx];
        div = tip.appendChild(document.createElement('div'));
        div.textContent = line.name + ' ';
        div.appendChild(document.createElement('b')).textContent = row[ky];
        add(marks, 'circle', {
          'class': 'dot s' + g, r: 4.5, cx: box[0] + (box[2] - box[0]) * place(xr, false, row[kx]),
          cy: box[3] - (box[3] - box[1]) * place(yr, yr[2] === 1, row[ky])
        });
      });
      head.textContent = near + ' ' + svg.dataset.x;
      svg.parentNode.appendChild(tip);
      // Below the picture, which stays to be seen.
      var room = svg.parentNode.clientWidth - tip.offsetWidth, middle = event.clientX - frame.left - tip.offsetWidth / 2;
      tip.style.left = Math.max(0, Math.min(middle, room)) + 'px';
      tip.style.top = frame.bottom - svg.parentNode.getBoundingClientRect().top - 8 + 'px';
    }

    svg.addEventListener('pointermove', show);
    svg.addEventListener('pointerdown', show);
    svg.addEventListener('pointerleave', hide);
  }

  var data = readTable();
  if (data) document.querySelectorAll('svg.chart').forEach(function (svg) { attach(svg, data); });

  document.querySelectorAll('.command').forEach(function (box) {
    var button = document.createElement('button'), code = box.querySelector('code');
    if (!navigator.clipboard) return;
    button.type = 'button';
    button.textContent = 'Copy the command';
    button.addEventListener('click', function () {
      navigator.clipboard.writeText(code.textContent).then(function () { button.textContent = 'Copied'; });
    });
    box.appendChild(button);
  });

  window.addEventListener('beforeprint', function () {
    document.querySelectorAll('.tip').forEach(function (tip) { tip.remove(); });
  });
}());
