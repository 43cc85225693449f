// Draws the page from the JSON documents that stand in it. Documents may be of any version and
// anybody's: what is missing, or of another type, is read as nothing, and all text of theirs goes
// through el() or svg(), as text. The conclusion is there already, and stays.
(() => {
  'use strict';

  // --- reading ---

  const has = (o, k) => o !== null && typeof o === 'object' && Object.hasOwn(o, k);
  const get = (o, ...keys) => keys.reduce((v, k) => has(v, k) ? v[k] : undefined, o);
  const isObject = v => v !== null && typeof v === 'object' && !Array.isArray(v);
  // What is of another type, or not there, is nothing of its own type.
  const typed = (is, nothing) => (o, ...keys) => {
    const v = get(o, ...keys);
    return is(v) ? v : nothing();
  };
  const object = typed(isObject, () => ({})), list = typed(Array.isArray, () => []),
        text = typed(v => typeof v === 'string', () => '');
  const isTrue = (o, ...keys) => get(o, ...keys) === true;
  // A number, or a string of digits; sums and squares of all others are numbers, too.
  const asNumber = v => typeof v === 'number' && Math.abs(v) < 1e150 ? v
    : typeof v === 'string' && /^\d{1,40}$/.test(v)                  ? Number(v)
                                                                     : NaN;
  const number = (o, ...keys) => asNumber(get(o, ...keys));
  const positive = x => x > 0 ? x : 0;
  const sum = values => values.reduce((a, x) => a + positive(x), 0);
  const unique = values => [...new Set(values)];

  // Mean, sample deviation and ends of those that are numbers.
  function spread(values) {
    const s = {n: 0, mean: NaN, sd: NaN, least: NaN, most: NaN};
    let m2 = 0;
    for (const x of values) {
      if (!Number.isFinite(x)) continue;
      const before = s.n ? s.mean : x;
      s.n++;
      s.mean = before + (x - before) / s.n;
      m2 += (x - before) * (x - s.mean);
      s.least = s.n > 1 ? Math.min(s.least, x) : x;
      s.most = s.n > 1 ? Math.max(s.most, x) : x;
    }
    if (s.n > 1) s.sd = Math.sqrt(m2 / (s.n - 1));
    return s;
  }

  // --- numbers as text ---

  const DASH = '–';
  const trim = t => t.includes('e') ? t.replace(/\.?0*e/, 'e')
    : t.includes('.')               ? t.replace(/\.?0+$/, '')
                                    : t;
  function figures(x, digits) {
    if (!Number.isFinite(x)) return DASH;
    if (Math.abs(x) >= 10 ** digits && Math.abs(x) < 1e15) return String(Math.round(x));
    if (Number.isInteger(x) && Math.abs(x) < 1e15) return String(x === 0 ? 0 : x);
    return trim(Math.abs(x) < 1e-4 ? x.toExponential(digits - 1) : x.toPrecision(digits));
  }
  function short(x) {
    if (!Number.isFinite(x)) return DASH;
    for (const [unit, name] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
      if (Math.abs(x) >= 9995 / 1e4 * unit) return (x / unit).toPrecision(3) + name;
    return figures(x, 3);
  }
  const percent = (part, all, digits = 1) =>
    all > 0 && Number.isFinite(part) ? (100 * part / all).toFixed(digits) : DASH;
  // "94.76 ± 0.95", where the runs differ.
  const withDeviation = (mean, s, deviation) =>
    [mean, s.n > 1 && s.least !== s.most ? el('span', 'sd', ` ± ${deviation()}`) : ''];
  function meanText(s, decimals, factor) {
    const fixed = v => Math.abs(v) >= 10 ** (8 - decimals) ? v.toPrecision(4) : v.toFixed(decimals);
    return Number.isFinite(s.mean)
      ? withDeviation(fixed(s.mean * factor), s, () => fixed(s.sd * Math.abs(factor))) : DASH;
  }
  // A column of means: their decimals give the middle one its digits, and the least two of them.
  function column(spreads, digits, factor = 1) {
    const sizes = spreads.filter(s => s.n && s.mean !== 0)
                    .map(s => Math.floor(Math.log10(Math.abs(s.mean * factor))))
                    .sort((a, b) => a - b);
    const whole =
      spreads.every(s => !s.n || (s.least === s.most && Number.isInteger(s.mean * factor)));
    const decimals = whole || !sizes.length
      ? 0
      : Math.min(
          8, Math.max(0, digits - 1 - sizes[sizes.length - 1 >> 1], Math.min(6, 1 - sizes[0])));
    return spreads.map(s => meanText(s, decimals, factor));
  }
  // "8.55k ± 0.21k": both in the unit of the mean.
  function shortMean(s) {
    const unit = [1e9, 1e6, 1e3].find(u => s.mean >= u) || 1, name = short(s.mean).match(/[GMk]?$/);
    return withDeviation(short(s.mean), s, () => figures(s.sd / unit, 2) + name);
  }
  const plainMean = (s, digits = 3, f = 1) =>
    withDeviation(figures(s.mean * f, digits), s, () => figures(s.sd * f, 2));

  // --- elements: strings become text, without what turns directions or controls anything ---

  // eslint-disable-next-line no-control-regex
  const clean = t =>
    t.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
  function append(node, children) {
    for (const child of children.flat(Infinity))
      if (child instanceof Node)
        node.append(child);
      else if (child !== null && child !== undefined && child !== false)
        node.append(clean(String(child)));
    return node;
  }
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    if (typeof attributes === 'string') {
      if (attributes) node.className = attributes;
    } else
      for (const [k, v] of Object.entries(attributes || {})) node.setAttribute(k, clean(String(v)));
    return append(node, children);
  }
  function svg(tag, attributes, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [k, v] of Object.entries(attributes || {})) node.setAttribute(k, clean(String(v)));
    return append(node, children);
  }
  const note = (...words) => el('p', 'note', ...words);
  // Prose: options are not broken at their hyphens, nor numbers before their %.
  const prose = t => t.replaceAll(' %', '\u00a0%')
                       .split(/(--[a-z][\w-]*)/)
                       .map((words, i) => i % 2 ? el('span', 'keyed', words) : words);
  const sentences = lines =>
    lines.length ? el('ul', 'sentences', lines.map(t => el('li', '', prose(t)))) : null;
  let ids = 0;
  const newId = () => `i${ids++}`;

  const ROWS_SHOWN = 1000;
  // A table of items, a row each. columns: [title, cell of an item, class], or nothing; class "n":
  // numbers ("#" before the title says so, too), "w2", "w3": only where the page is wide enough,
  // "bar": without a title. A cell is text, a node or a list of both, or {content, shade, share}.
  function sheet(caption, items, columns, kind = '') {
    const there = columns.filter(c => c).map(([title, cell, is]) => title[0] === '#'
      ? [title.slice(1), cell, 'n'] : [title, cell, is || (title === '' ? 'bar' : '')]);
    const put = (tag, is, cell, more) => {
      const node =
        el(tag, {...(is ? {class: is} : {}), ...more}, cell?.shade ? cell.content : cell);
      if (cell?.shade) {
        node.classList.add(cell.shade);
        node.style.setProperty('--s', cell.share);
      }
      return node;
    };
    const head = there.map(([title, , is]) =>
      title === '' ? put('td', is, '') : put('th', is, title, {scope: 'col'}));
    const rows = items.slice(0, ROWS_SHOWN).map(item => el('tr', '', there.map(([, cell, is], i) =>
      i ? put('td', is, cell(item)) : put('th', is, cell(item), {scope: 'row'}))));
    const box = el('div', {class: 'scroll', role: 'region', tabindex: 0, 'aria-label': caption},
      el('table', kind, el('caption', '', caption), el('thead', '', el('tr', '', head)),
        el('tbody', '', rows)));
    return items.length > ROWS_SHOWN
      ? [box, note(`The first ${ROWS_SHOWN} rows of ${items.length}; the JSON has all.`)] : box;
  }
  const ifAny = (items, build) => items.length ? build(items) : null;
  // Columns of numbers and of words that stand in the items as they are.
  const num = (title, path, digits) =>
    [`#${title}`, o => figures(number(o, ...path.split(' ')), digits)];
  const word = (title, k) => [title, o => text(o, k)];

  // A bar of parts: [class or colour, share of 1].
  const bar = (parts, kind = '') => el('div', {class: `bar ${kind}`, 'aria-hidden': 'true'},
    parts.filter(p => p[1] > 0).map(([paint, share]) => el('i', {
      style: `width:${(100 * Math.min(1, share)).toFixed(2)}%${
        paint.startsWith('var') ? `;background:${paint}` : ''}`,
      class: paint.startsWith('var') ? 'own' : paint
    })));

  // --- what the page is about: runs of all documents, those that differ in their seed as a group
  // ---

  const data = JSON.parse(document.getElementById('data').textContent);
  const sources =
    list(data, 'documents').map(d => ({name: text(d, 'name'), of: object(d, 'document')}));
  const several = sources.length > 1;
  const rootStyle = getComputedStyle(document.documentElement);
  const DRAWN = 12;

  function groupRuns() {
    const groups = new Map();
    sources.forEach((source, s) => list(source.of, 'runs').forEach(run => {
      const strategy = text(run, 'strategy'), setting = text(run, 'setting');
      const label = text(run, 'label') || `${strategy || 'run'}${setting ? ` ${setting}` : ''}`,
            key = `${s} ${label}`;
      if (!groups.has(key))
        groups.set(
          key, {label: clean(label.slice(0, 200)), strategy: clean(strategy), source: s, runs: []});
      groups.get(key).runs.push(run);
    }));
    const all = [...groups.values()], same = new Map(), taken = new Set(), variants = new Map();
    for (const g of all) same.set(g.label, (same.get(g.label) || 0) + 1);
    for (const g of all) {
      if (same.get(g.label) > 1)
        g.label += ` (${sources[g.source].name.split('/').pop().split('.')[0].slice(0, 24)})`;
      while (taken.has(g.label)) g.label += ` #${g.source + 1}`;
      taken.add(g.label);
      g.variant = variants.get(g.strategy) || 0;
      variants.set(g.strategy, g.variant + 1);
      g.paint = paintOf(g.strategy);
    }
    return all;
  }
  const isNamed = strategy =>
    /^[a-z-]+$/.test(strategy) && rootStyle.getPropertyValue(`--s-${strategy}`);
  const paintOf = strategy => `var(--s-${isNamed(strategy) ? strategy : 'other'})`;

  const SPELLED = new Map([['rmse', 'RMSE'], ['mae', 'MAE'], ['r2', 'R²'], ['mse', 'MSE']]);
  const isMeasured = key => /^(train|test|validation)_/.test(key);
  function metricOf(part, key) {
    const words = (part || key).split('_'), which = words.shift(),
          what = part ? key : words.join('_'), share = key.endsWith('accuracy');
    const name = `${which[0].toUpperCase()}${which.slice(1)} ${
      SPELLED.get(what) || what.replaceAll('_', ' ')}`;
    return {
      name, key, share, path: part ? `${part} ${key}` : key, more: share || /(^|_)r2$/.test(key),
      of: o => part ? number(o, part, key) : number(o, key)
    };
  }
  // Every train_x, test_x and validation_x that is a number somewhere, and those of test_fit.
  function findMetrics(runs) {
    const found = new Map();
    const add = (value, key, inner) => {
      if (typeof value === 'number' && found.size < 10)
        found.set(`${key} ${inner}`, inner ? metricOf(key, inner) : metricOf('', key));
    };
    const look = o => {
      for (const key of Object.keys(isObject(o) ? o : {}).filter(isMeasured)) {
        if (!/_(samples|evaluations|seconds)$/.test(key)) add(o[key], key, '');
        if (key.endsWith('_fit') && isObject(o[key]))
          Object.entries(o[key]).forEach(([inner, x]) => add(x, key, inner));
      }
    };
    for (const run of runs) [run, ...list(run, 'curve').slice(0, 3)].forEach(look);
    return [...found.values()];
  }
  const RANKS = [
    'test_accuracy', 'validation_accuracy', 'test_fit rmse', 'validation_fit rmse', 'test_rmse',
    'test_loss', 'validation_loss', 'train_loss'
  ];

  const groups = groupRuns(), runs = groups.flatMap(g => g.runs), metrics = findMetrics(runs);
  const primary = RANKS.map(r => metrics.find(m => m.path === r)).find(m => m);
  const mean = (group, ...keys) => spread(group.runs.map(run => number(run, ...keys)));
  const score = (group, m) => spread(group.runs.map(run => m.of(run)));
  const factorOf = m => m.share ? 100 : 1;
  const titleOf = m => `${m.name}${m.share ? ', %' : ''}`;
  // Of text, speed is in tokens.
  const rate = runs.some(run => number(run, 'tokens_per_s') > 0)
    ? ['tokens/s', 'tokens_per_s'] : ['samples/s', 'samples_per_s'];
  const seeds = groups.some(g => g.runs.length > 1);

  // Groups that have a line: all, or those that ended best.
  const drawn = (() => {
    const value = g => {
      const x = primary ? score(g, primary).mean : NaN;
      return Number.isNaN(x) ? -Infinity : primary.more ? x : -x;
    };
    const best = [...groups].sort((a, b) => value(b) - value(a)).slice(0, DRAWN);
    return groups.filter(g => best.includes(g));
  })();

  // What lines go by: a strategy by its name where it has one line alone; else with those words of
  // its label (a name and its number are one) that not all lines of the strategy have.
  function nameLines() {
    const wordsOf = label => label.match(/\S+ (?=[\d.+-])\S+|\S+/g) || [];
    for (const g of drawn) {
      const mates = drawn.filter(o => o.strategy === g.strategy),
            words = mates.map(o => new Set(wordsOf(o.label)));
      const own = wordsOf(g.label).filter(w => w !== g.strategy && !words.every(set => set.has(w)));
      const alone = mates.length === drawn.length;
      g.short = mates.length === 1 && g.strategy
        ? g.strategy
        : [alone && own.length ? '' : g.strategy, ...own].filter(w => w).join(' ');
      g.short ||= g.label;
    }
    for (const g of drawn)
      if (drawn.some(o => o !== g && o.short === g.short)) g.long = true;
    for (const g of drawn)
      if (g.long) g.short = g.label;
  }
  nameLines();
  const cut = (t, most) => t.length <= most ? t
    : t.includes(' ')
    ? `${t.slice(0, Math.ceil(most * .55))}…${t.slice(t.length - Math.floor(most * .45) + 1)}`
    : `${t.slice(0, most - 1)}…`;

  // --- series: means over seeds, evaluation by evaluation, thinned ---

  const POINTS_MOST = 240, STRETCHES = 100;
  const ABSCISSAS =
    [['seconds', 'seconds of training'], ['samples', 'samples'], ['updates', 'updates']];
  // Curves do not say how many updates there were: as many a sample as in the whole run.
  function updatesAt(run, point) {
    const said = number(point, 'updates'), samples = number(run, 'total_samples');
    if (!Number.isNaN(said)) return said;
    if (samples > 0) return number(point, 'samples') * number(run, 'total_updates') / samples;
    return number(point, 'samples') * number(run, 'updates') / number(run, 'samples');
  }
  function seriesOf(group) {
    const curves = group.runs.map(run => list(run, 'curve'));
    const n = Math.max(0, ...curves.map(c => c.length)), points = [];
    for (let i = 0; i < n; i++) {
      const there = curves.map((c, r) => [c[i], group.runs[r]]).filter(([p]) => isObject(p));
      if (!there.length) continue;
      const meanOf = of => spread(there.map(of)).mean;
      points.push({
        runs: there.length, epoch: meanOf(([p]) => number(p, 'epoch')),
        at: Object.fromEntries(ABSCISSAS.map(([key]) => [key,
          meanOf(([p, run]) => key === 'updates' ? updatesAt(run, p) : number(p, key))])),
        value: new Map(metrics.map(m => [m, spread(there.map(([p]) => m.of(p)))]))
      });
    }
    return {group, whole: points.length, points: thin(points)};
  }
  // The first, the last, and those that are least and most within each stretch, and of all.
  function thin(points) {
    if (points.length <= POINTS_MOST) return points;
    const keep = new Set([0, points.length - 1]);
    const ends = (m, from, to) => {
      let least = -1, most = -1;
      for (let i = from; i < to; i++) {
        const v = points[i].value.get(m);
        if (!v || !v.n) continue;
        if (least < 0 || v.least < points[least].value.get(m).least) least = i;
        if (most < 0 || v.most > points[most].value.get(m).most) most = i;
      }
      if (least >= 0) keep.add(least).add(most);
    };
    for (let s = 0; s < STRETCHES && primary; s++)
      ends(primary, Math.floor(points.length * s / STRETCHES),
        Math.floor(points.length * (s + 1) / STRETCHES));
    for (const m of metrics) ends(m, 0, points.length);
    return points.filter((_, i) => keep.has(i));
  }
  const series = drawn.map(seriesOf);
  const haveCurves = series.some(s => s.points.length > 1);

  // --- axes ---

  function niceStep(raw) {
    const power = 10 ** Math.floor(Math.log10(raw)), part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  }
  // whole: ends at ticks. log: where allowed, and most is so many times the least.
  function axis(least, most, {whole = false, log = 0, wanted = 5} = {}) {
    if (!Number.isFinite(least) || !Number.isFinite(most)) [least, most] = [0, 1];
    const size = Math.max(Math.abs(least), Math.abs(most));
    if (!(most - least > size * 1e-12) || size < 1e-290) {
      const half = size < 1e-290 ? .5 : size * .05;
      [least, most] = [least - half, most + half];
    }
    const a = {
      least, most, ticks: [],
      log: log > 0 && least > 0 && most / least > log && most / least < 1e100
    };
    if (a.log) {
      const first = Math.floor(Math.log10(least)), last = Math.ceil(Math.log10(most)),
            step = Math.max(1, Math.ceil((last - first) / wanted));
      for (let e = first; e <= last && a.ticks.length < 40; e += step)
        for (const part of last - first <= 3 ? [1, 2, 5] : [1]) {
          const tick = part * 10 ** e;
          if (tick >= least * .999 && tick <= most * 1.001) a.ticks.push(tick);
        }
      if (a.ticks.length < 2) a.ticks = [least, most];
    } else {
      const step = niceStep((most - least) / wanted);
      if (whole)
        [a.least, a.most] =
          [Math.floor(least / step + 1e-9) * step, Math.ceil(most / step - 1e-9) * step];
      for (let i = Math.ceil(a.least / step - 1e-9);
           i * step <= a.most + step * 1e-6 && a.ticks.length < 40; i++)
        a.ticks.push(i * step === 0 ? 0 : i * step);
    }
    const span = a.log ? Math.log(a.most / a.least) : a.most - a.least;
    a.place = v => Math.min(2,
      Math.max(-1, (a.log ? Math.log(Math.max(v, a.least * 1e-3) / a.least) : v - a.least) / span));
    return a;
  }
  function tickText(x) {
    const size = Math.abs(x);
    if (size >= 1e12 || (size > 0 && size < 1e-4)) return x.toExponential(0);
    for (const [unit, name] of [[1e9, 'G'], [1e6, 'M'], [1e4, 'k']])
      if (size >= unit) return trim((x / (name === 'k' ? 1e3 : unit)).toPrecision(4)) + name;
    return trim(x.toPrecision(6));
  }

  // --- charts ---

  const redraws = [];
  let pageWidth = 0;
  const SHAPES = [
    'm-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z', 'm-3-3h6v6h-6z', 'm0-4.2l3.8 6.8h-7.6z',
    'm0-4.4l4.4 4.4-4.4 4.4-4.4-4.4z', 'm-3.8-2.6h7.6l-3.8 6.8z'
  ];
  const DASHES = ['none', '7 3', '2 2.5', '9 3 2 3', '4 2', '12 3', '6 2 2 2 2 2', '1.5 4'];
  const marker = (variant, x, y) => svg('path', {
    class: `dot${Math.floor(variant / SHAPES.length) % 2 ? ' open' : ''}`,
    d: `M${x.toFixed(1)} ${y.toFixed(1)}${SHAPES[variant % SHAPES.length]}`
  });
  const styleOf = line => `--c:${line.paint};--d:${DASHES[line.variant % DASHES.length]}`;
  const key = line =>
    svg('svg', {class: 'key', viewBox: '0 0 30 12', 'aria-hidden': 'true', style: styleOf(line)},
      svg('path', {class: 'line', d: 'M1 6H29'}), marker(line.variant, 15, 6));

  const lineOf = g => ({paint: g.paint, variant: g.variant, name: g.label, short: g.short});
  const block = (kind, x, y, width, height, title, style) => {
    const [left, top, wide, high] = [x, y, width, height].map(v => v.toFixed(1));
    return svg('rect', {class: kind, ...(style ? {style} : {}), x: left, y: top, width: wide,
      height: high}, svg('title', {}, title));
  };

  // A picture that is drawn when it is first seen, and anew for every width of the page;
  // draw(width) gives its parts.
  function picture(kind, title, description, [head, ...words], draw) {
    const id = newId(), host = el('figure', kind,
      el('figcaption', '', el('b', '', head), ' ', el('span', '', words)));
    let drawnFor = 0;
    redraws.push(() => {
      if (drawnFor === pageWidth || host.closest('details:not([open])')) return;
      drawnFor = pageWidth;
      const width = kind.includes('hero') ? pageWidth : panelWidth();
      const [height, parts, after] = draw(width);
      const node = svg('svg', {
        viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-labelledby': `${id}-t`,
        'aria-describedby': `${id}-d`, class: 'chart'
      }, svg('title', {id: `${id}-t`}, title), svg('desc', {id: `${id}-d`}, description), parts);
      const old = host.querySelector(':scope > svg.chart');
      if (old) old.replaceWith(node);
      else host.append(node);
      if (after) after(node, host);
    });
    return host;
  }
  const panelColumns = () => Math.max(1, Math.min(3, Math.floor(pageWidth / 340)));
  const panelWidth = () => Math.floor((pageWidth - 32 * (panelColumns() - 1)) / panelColumns());

  // Axes and grid within box [left, top, right, bottom]; x numbers do not touch.
  function frame(box, x, y, xTitle) {
    const [left, top, right, bottom] = box, parts = [];
    const at = {
      x: v => left + (right - left) * x.place(v),
      y: v => bottom - (bottom - top) * y.place(v)
    };
    for (const tick of y.ticks)
      parts.push(svg('path', {class: 'grid', d: `M${left} ${at.y(tick).toFixed(1)}H${right}`}),
        svg('text', {class: 'e', x: left - 7, y: (at.y(tick) + 4).toFixed(1)}, tickText(tick)));
    parts.push(svg('path', {class: 'axis', d: `M${left} ${bottom}H${right}`}));
    let free = -1e9;
    for (const tick of x.ticks) {
      const px = at.x(tick), label = tickText(tick), half = 3.7 * label.length;
      parts.push(svg('path', {class: 'axis', d: `M${px.toFixed(1)} ${bottom}v4`}));
      if (px - half < free) continue;
      free = px + half + 6;
      const anchor = px < left + 8 ? 'start' : px + half > right + 10 ? 'end' : 'middle';
      parts.push(svg('text',
        {x: px.toFixed(1), y: bottom + 17, 'text-anchor': anchor},
        label));
    }
    parts.push(svg('text', {class: 'e', x: right, y: bottom + 34}, xTitle));
    return {parts, at};
  }

  const pen = document.createElement('canvas').getContext('2d');
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  const widthOf = t => pen.measureText(t).width;
  // Where a frame begins whose ticks of y stand to its left.
  const besideTicks = y =>
    Math.round(10 + Math.max(20, ...y.ticks.map(t => widthOf(tickText(t)))));

  // Labels at the ends of lines, pushed apart; a thin line leads to those that end elsewhere.
  function endLabels(ends, x, top, bottom, most, reach) {
    const LINE = 15, sorted = [...ends].sort((a, b) => a.y - b.y);
    sorted.forEach((e, i) => { e.at = Math.max(e.y, top, i ? sorted[i - 1].at + LINE : top); });
    for (let i = sorted.length; i-- > 0;)
      sorted[i].at =
        Math.min(sorted[i].at, i + 1 < sorted.length ? sorted[i + 1].at - LINE : bottom);
    return sorted.map(
      e => svg('g', {style: styleOf(e.line), 'data-line': e.line.index, class: 'label'},
        x - e.x > reach ? null : svg('path', {
          class: 'lead',
          d: `M${(e.x + 5).toFixed(1)} ${e.y.toFixed(1)}L${x - 7} ${e.at.toFixed(1)}`
        }),
        marker(e.line.variant, x, e.at),
        svg('text', {class: 'l', x: x + 8, y: (e.at + 4).toFixed(1)}, svg('title', {}, e.line.name),
          cut(e.line.short, most))));
  }

  // lines: {paint, variant, name, short, points: [{x, y, least, most}]}.
  // fit: where values are worth seeing: [least, most] of the y axis, if not of all of them.
  function lineChart({
    kind, title, caption, lines, xTitle, yLog = 0, xLog = 0, fromZero = true, fit = null,
    more = true
  }) {
    const format = x => figures(x, 4), hero = kind === 'hero';
    lines = lines.filter(line => line.points.length);
    if (!lines.length) return null;
    lines.forEach((line, i) => { line.index = i; });
    const points = lines.flatMap(line => line.points);
    const xs = spread(points.map(p => p.x)), low = spread(points.map(p => p.least)),
          high = spread(points.map(p => p.most));
    const xAxis = width => axis(fromZero ? Math.min(0, xs.least) : xs.least, xs.most,
      {log: xLog, wanted: Math.max(3, width / 120)});
    const [least, most] =
      fit || (xLog ? [low.least * .9, high.most * 1.1] : [low.least, high.most]);
    const yAxis = axis(least, most, {whole: !yLog, log: yLog, wanted: hero ? 6 : 5});
    const ends = lines.map(line => `${line.name} ends at ${format(line.points.at(-1).y)}`);
    const clip = newId(), cutOff = points.some(p => p.y < yAxis.least || p.y > yAxis.most);
    const words = [caption, yAxis.log ? ', log scale' : '',
      cutOff ? '; values outside of the axis are cut off' : ''];
    return picture(kind, title, `${ends.slice(0, DRAWN).join('; ')}.`, [title, words], width => {
      const letters = width < 560 ? 14 : 26, x = xAxis(width);
      const right = lines.length > 1
        ? 30 + Math.max(...lines.map(line => widthOf(cut(line.short, letters))))
        : 16;
      const height = hero ? Math.round(Math.min(470, Math.max(300, width * .42)))
                          : Math.max(230, 60 + 15 * lines.length);
      const box = [besideTicks(yAxis), 10, Math.round(width - right), height - 42],
            {parts, at} = frame(box, x, yAxis, xTitle);
      const inside = svg('g', {'clip-path': `url(#${clip})`});
      const place = (p, y) => `${at.x(p.x).toFixed(1)} ${at.y(y).toFixed(1)}`;
      for (const line of lines.filter(l => l.points.some(p => p.most > p.least))) {
        const up = line.points.map(p => place(p, p.most)),
              down = line.points.map(p => place(p, p.least)).reverse();
        inside.append(svg('path', {
          class: lines.length > 5 ? 'band faint' : 'band', style: styleOf(line),
          'data-line': line.index, d: `M${[...up, ...down].join('L')}Z`
        }));
      }
      const paths = lines.map(line => line.points.map(p => place(p, p.y)).join('L'));
      for (const [i, line] of lines.entries()) {
        const g = svg('g', {style: styleOf(line), 'data-line': line.index, class: 'curve'});
        // One that lies on another leaves it to be seen.
        const covers = paths.indexOf(paths[i]) < i ? ' covers' : '';
        g.append(svg('path', {class: `line${covers}`, d: `M${paths[i]}`}));
        const every = line.points.length <= 14;
        line.points.forEach((p, i) => {
          if (every || i + 1 === line.points.length)
            g.append(marker(line.variant, at.x(p.x), at.y(p.y)));
        });
        inside.append(g);
      }
      parts.push(svg('clipPath', {id: clip}, svg('rect', {x: box[0] - 5, y: box[1] - 5,
        width: box[2] - box[0] + 10, height: box[3] - box[1] + 5.5})), inside);
      if (lines.length > 1)
        parts.push(...endLabels(lines.map(line => {
          const p = line.points.at(-1);
          return {line, x: at.x(p.x), y: Math.min(box[3], Math.max(box[1], at.y(p.y)))};
        }), box[2] + 16, box[1] + 4, box[3], letters, hero ? Infinity : 60));
      return [
        height, parts,
        (node, host) => readOut(node, host, {lines, at, box, xTitle, format, more})
      ];
    });
  }

  // Values under the pointer, or, with the keyboard, under a cursor that the arrow keys move.
  function readOut(node, host, {lines, at, box, xTitle, format, more}) {
    const shown = [], stops =
      unique(lines.flatMap(line => line.points.map(p => p.x))).sort((a, b) => a - b);
    let cursor = stops.length - 1;
    const hide = () => shown.splice(0).forEach(e => e.remove());
    const nearest = (all, px, xOf) =>
      all.reduce((best, p) => Math.abs(xOf(p) - px) < Math.abs(xOf(best) - px) ? p : best);
    const range = p => p.most > p.least ? ` (${format(p.least)} to ${format(p.most)})` : '';
    const show = v => {
      hide();
      const px = at.x(v);
      const found = lines.map(line => ({line, p: nearest(line.points, px, p => at.x(p.x))}))
                      .sort((a, b) => (b.p.y - a.p.y) * (more ? 1 : -1));
      const marks = svg('g', {},
        svg('path', {class: 'cursor', d: `M${px.toFixed(1)} ${box[1]}V${box[3]}`}),
        found.filter(({p}) => at.y(p.y) >= box[1] - 5 && at.y(p.y) <= box[3] + 5)
          .map(({line, p}) => svg('circle', {class: 'dot', style: styleOf(line), r: 4.5,
            cx: at.x(p.x).toFixed(1), cy: at.y(p.y).toFixed(1)})));
      const tip = el('div', {class: 'tip', role: 'status'},
        el('div', 'soft', `${figures(v, 4)} ${xTitle}`), found.map(({line, p}) =>
          el('div', '', key(line), line.short, el('b', '', format(p.y), range(p)))));
      node.append(marks);
      host.append(tip);
      shown.push(marks, tip);
      const frame = node.getBoundingClientRect(), scale = frame.width / node.viewBox.baseVal.width;
      const room = host.clientWidth - tip.offsetWidth, right = px * scale + 16;
      const side = right > room ? right - 32 - tip.offsetWidth : right;
      tip.style.left = `${Math.max(0, Math.min(room, side))}px`;
      tip.style.top = `${frame.top - host.getBoundingClientRect().top + box[3] * scale + 30}px`;
    };
    const point = event => {
      const frame = node.getBoundingClientRect(),
            px = (event.clientX - frame.left) * node.viewBox.baseVal.width / frame.width;
      if (px < box[0] - 6 || px > box[2] + 8) hide();
      else show(nearest(stops, px, at.x));
    };
    node.setAttribute('tabindex', '0');
    for (const kind of ['pointermove', 'pointerdown']) node.addEventListener(kind, point);
    for (const kind of ['pointerleave', 'blur']) node.addEventListener(kind, hide);
    const STEPS =
      {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity, PageUp: -10, PageDown: 10};
    node.addEventListener('keydown', event => {
      if (event.key === 'Escape') hide();
      if (!Object.hasOwn(STEPS, event.key)) return;
      event.preventDefault();
      cursor = Math.max(0, Math.min(stops.length - 1, cursor + STEPS[event.key]));
      show(stops[cursor]);
    });
    const mark = on => event => {
      const index = event.target.closest('[data-line]')?.dataset.line;
      node.classList.toggle('one', on && index !== undefined);
      for (const g of node.querySelectorAll('[data-line]'))
        g.classList.toggle('chosen', on && g.dataset.line === index);
    };
    for (const label of node.querySelectorAll('.label')) {
      label.addEventListener('pointerenter', mark(true));
      label.addEventListener('pointerleave', mark(false));
    }
  }

  // --- curves of runs ---

  const curveLines = (metric, x) => series.map(s => ({
    ...lineOf(s.group),
    points: s.points.filter(p => p.value.get(metric).n && Number.isFinite(p.at[x])).map(p => {
      const v = p.value.get(metric), f = factorOf(metric);
      return {x: p.at[x], y: v.mean * f, least: v.least * f, most: v.most * f};
    })
  }));
  // Where the ends of lines can be told apart: from what four fifths of the values reach, if that
  // is less than two thirds of all that there is.
  function fitOf(lines, more) {
    const means = lines.flatMap(line => line.points.map(p => p.y)).sort((a, b) => a - b);
    const last = lines.filter(line => line.points.length).map(line => line.points.at(-1));
    if (means.length < 8) return null;
    const all = spread(lines.flatMap(line => line.points.flatMap(p => [p.least, p.most])));
    const q = means[Math.floor((means.length - 1) * (more ? .25 : .75))];
    const least = more ? Math.min(q, ...last.map(p => p.least)) : all.least,
          most = more ? all.most : Math.max(q, ...last.map(p => p.most));
    return most - least < .7 * (all.most - all.least) ? [least, most] : null;
  }
  const clocks = unique(runs.map(run => text(run, 'clock')).filter(c => c));
  const secondsTitle = clocks.length === 1 && clocks[0] === 'virtual'
    ? 'seconds of training, virtual time'
    : 'seconds of training';

  function heroChart() {
    if (!primary || !haveCurves) return null;
    const metric = [primary, ...metrics].find(
      m => curveLines(m, 'seconds').some(line => line.points.length > 1));
    if (!metric) return null;
    const lines = curveLines(metric, 'seconds'), log = !metric.share && !metric.more;
    const band = seeds ? '; mean of the seeds, band from smallest to largest' : '';
    return lineChart({
      kind: 'hero', title: metric.name, lines, xTitle: secondsTitle, yLog: log ? 20 : 0,
      fit: log ? null : fitOf(lines, metric.more), more: metric.more,
      caption: `${metric.share ? 'in %, ' : ''}against seconds${band}`
    });
  }

  function curves() {
    if (!haveCurves) return null;
    const ratios = spread(series.flatMap(s => s.points.map(p => p.at.samples / p.at.updates)));
    const alike = ratios.n && ratios.most - ratios.least <= .02 * ratios.least;
    const whole = Math.max(...series.map(s => s.whole)),
          shown = Math.max(...series.map(s => s.points.length));
    const words = [
      clocks.length > 1 && 'Seconds are not of one kind: some runs had a virtual clock.',
      seeds && 'Lines are means over the seeds at each evaluation; bands reach from least to most.',
      alike && `Every update is made of ${figures(ratios.mean, 4)} samples, so that curves ` +
        'against updates look as those against samples.',
      whole > shown && `${whole} evaluations are shown by at most ${shown}: those that are least ` +
        `and most within each of ${STRETCHES} stretches, and of all.`,
      drawn.length < groups.length &&
        `Of ${groups.length} settings those ${drawn.length} are drawn that ended best.`
    ];
    const panels = metrics.map(m => {
      const charts = ABSCISSAS.filter(([x]) => x !== 'updates' || !alike).map(([x, xTitle]) =>
        lineChart({
          kind: 'panel', title: m.name, caption: `${m.share ? 'in %, ' : ''}against ${x}`,
          lines: curveLines(m, x), xTitle: x === 'seconds' ? secondsTitle : xTitle,
          yLog: m.share || m.more ? 0 : 10, more: m.more
        })).filter(chart => chart);
      return charts.length ? el('div', 'panels', charts) : null;
    });
    const value = (m, of) => ({p}) => figures(p.value.get(m)[of] * factorOf(m), 6);
    return [
      note(words.filter(w => w).join(' ')), panels,
      fold('Values of the curves',
        sheet(seeds ? 'Evaluations: mean, smallest and largest of the runs' : 'Evaluations',
          series.flatMap(s => s.points.map(p => ({s, p}))), [
            ['strategy', ({s}) => s.group.label], seeds && ['#runs', ({p}) => p.runs],
            ['#samples', ({p}) => figures(p.at.samples, 6)],
            ['#updates', ({p}) => figures(Math.round(p.at.updates), 6)],
            ['#seconds', ({p}) => figures(p.at.seconds, 6)],
            ['#epoch', ({p}) => figures(p.epoch, 6)],
            ...metrics.flatMap(m => [
              [`#${titleOf(m)}`, value(m, 'mean')], seeds && ['#least', value(m, 'least')],
              seeds && ['#most', value(m, 'most')]
            ])
          ], 'values curve-values'))
    ];
  }

  // --- results ---

  const PHASES = ['load', 'compute', 'communicate', 'wait', 'absent'];
  const spent = (group, worker) => {
    const of = PHASES.map(phase => sum(group.runs.map(run => worker === undefined
                              ? number(run, 'time', phase)
                              : number(list(run, 'time', 'workers')[worker], phase))));
    return {of, all: sum(of)};
  };
  const timed = groups.some(g => spent(g).all > 0);
  const waitingOf = g => percent(spent(g).of[3], spent(g).all, 0);
  const REMARKS = [
    ['diverged', run => isTrue(run, 'divergence', 'diverged')],
    ['at chance', run => text(run, 'at_chance')],
    ['interrupted', run => isTrue(run, 'interrupted')],
    ['stopped early', run => isTrue(run, 'best', 'stopped')],
    ['lost ranks', run => list(run, 'losses').length > 0]
  ];
  // Strategy first; the rest of its label where there is room.
  const plainName = group => {
    const behind =
            group.strategy && group.label.startsWith(`${group.strategy} `) && groups.length > 1,
          variants = groups.some(g => g !== group && g.strategy === group.strategy);
    const rest = behind
      ? el('span', variants ? 'rest own' : 'rest', group.label.slice(group.strategy.length))
      : null;
    return [groups.length > 1 ? key(group) : '', rest ? [group.strategy, rest] : group.label];
  };
  const nameCell = group => [plainName(group), REMARKS.map(([word, test]) => {
    const n = group.runs.filter(test).length;
    const of = group.runs.length > 1 ? ` (${n} of ${group.runs.length} runs)` : '';
    return n ? [' ', el('span', 'warn', word, of)] : '';
  })];
  const anyOf = (...keys) => groups.some(g => {
    const s = mean(g, ...keys);
    return s.n && (s.least !== 0 || s.most !== 0);
  });
  const comparison = several || !sources.length ? {} : object(sources[0].of, 'comparison');

  // "-0.67 (-4.00 to +2.66)": against the best, with its interval.
  function againstBest() {
    const best = text(comparison, 'best'), metric = text(comparison, 'metric'), found = new Map();
    const f = metric === 'accuracy' ? 100 : 1;
    const sign = x => {
      const t = f > 1 && Math.abs(x) < 1e6 ? x.toFixed(2) : figures(x, 3);
      return (+t > 0 ? '+' : '') + t.replace(/^-(?=[0.]+$)/, '');
    };
    for (const t of list(comparison, 'comparisons')) {
      const a = text(t, 'a'), b = text(t, 'b'), x = number(t, 'difference');
      const turn = b === best ? 1 : a === best ? -1 : 0;
      if (!turn || text(t, 'metric') !== metric || Number.isNaN(x)) continue;
      const ends = list(t, 'interval').map(asNumber).map(v => v * turn * f).sort((p, q) => p - q);
      found.set(turn > 0 ? a : b, [
        sign(turn * x * f),
        ends.length === 2 ? el('span', 'sd', ` (${sign(ends[0])} to ${sign(ends[1])})`) : '',
        number(t, 'p_adjusted') < .05 ? el('span', 'star', ' *') : ''
      ]);
    }
    return best && found.size ? {best, found, unit: f > 1 ? 'points' : metric} : null;
  }

  function results() {
    if (!groups.length) return null;
    const target = anyOf('target_seconds'), against = againstBest(),
          counts = unique(groups.map(g => g.runs.length));
    // Cells of a column that is laid out as one.
    const each = cells => g => cells[groups.indexOf(g)];
    const means = (...keys) => each(column(groups.map(g => mean(g, ...keys)), 3));
    const scores = (m, kind) => m && [titleOf(m), each(column(
      groups.map(g => score(g, m)), m.share || !seeds ? 4 : 3, factorOf(m))), kind];
    const shown = metrics.filter(m => groups.some(g => score(g, m).n));
    const first = shown.find(m => m === primary),
          loss = shown.find(m => m !== first && /loss/.test(m.key) && !/train/.test(m.key));
    const over = seeds ? `: mean ± standard deviation over ${
      counts.length === 1 ? `${counts[0]} runs each` : 'the runs'}` : '';
    return [
      sheet(`At the end of training${over}`, groups, [
        ['strategy', nameCell], counts.length > 1 && ['runs', g => g.runs.length, 'n w3'],
        scores(first, 'n'), scores(loss, 'n w2'),
        against && [`difference to the best, ${against.unit}`,
          g => g.label === against.best ? 'the best' : against.found.get(g.label) || 'not tested',
          'n w2'],
        target && ['#seconds to target', means('target_seconds')],
        ['seconds', means('seconds'), target ? 'n w2' : 'n'],
        [rate[0], g => shortMean(mean(g, rate[1])), 'n w2']
      ], 'results'),
      against
        ? note('In brackets: 95 % intervals, uncorrected. * significant after Holm’s correction.')
        : null,
      ifAny(sources.flatMap(s => list(s.of, 'failed')), all => sheet('Runs that failed', all, [
        ['strategy', f => text(f, 'label') || text(f, 'strategy')], num('seed', 'seed', 15),
        word('why', 'message')
      ], 'text'))
    ];
  }

  const STALENESS = 'Staleness of an update: how many updates other workers made after its ' +
    'worker had read the weights.';
  const swatch = (i, word) => el('span', 'keyed', el('i', `swatch p${i}`), word);
  const phases = t => bar(t.of.map((s, i) => [`p${i}`, s / t.all]));
  function why() {
    if (!groups.length || !groups.some(g => mean(g, 'updates').n)) return null;
    const stale = g => mean(g, 'staleness', 'mean').mean;
    const stalest = Math.max(...groups.map(g => positive(stale(g))));
    const acts = anyOf('asynchrony', 'effective_lr') && stalest > 0;
    const plain = (digits, ...keys) => g => figures(mean(g, ...keys).mean, digits);
    const legend = PHASES.map((p, i) =>
      groups.some(g => spent(g).of[i] > 0) ? [swatch(i, p), ' '] : null).filter(p => p);
    const warnings =
      unique(groups.flatMap(g => list(g.runs[0], 'warnings').filter(w => typeof w === 'string')))
        .slice(0, 32);
    return [
      sheet('What explains score and speed: updates, staleness, the time of workers', groups, [
        ['strategy', plainName], ['#updates', plain(6, 'updates')],
        ['samples per update', g => figures(spread(g.runs.map(
          run => number(run, 'samples') / number(run, 'updates'))).mean, 4), 'n w2'],
        ['last learning rate', plain(3, 'lr'), 'n w2'],
        acts && ['effective rate', plain(3, 'asynchrony', 'effective_lr'), 'n w3'],
        stalest > 0 && ['', g => bar([[g.paint, positive(stale(g)) / stalest]]), 'bar w3'],
        stalest > 0 && ['#staleness', g => figures(stale(g), 3)],
        stalest > 0 && ['maximum', g => figures(mean(g, 'staleness', 'max').most, 6), 'n w3'],
        timed && ['', g => phases(spent(g))], timed && ['waiting, %', waitingOf, 'n w2']
      ], 'bars why'),
      legend.length ? note('Time of all workers: ', legend) : null,
      note([
        stalest > 0 && STALENESS,
        acts && 'Effective rate: the learning rate times (1 + mean staleness), as theory predicts.'
      ].filter(w => w).join(' ')),
      warnings.length ? el('h3', '', 'Warnings') : null, sentences(warnings)
    ];
  }

  // All figures: by setting, and by run.
  const FIGURES = [
    ['target_seconds', 'seconds to target'], ['seconds', 'seconds'], [rate[1], rate[0]],
    ['updates', 'updates'], ['lr', 'lr'], ['staleness mean', 'staleness'],
    ['staleness max', 'most stale'], ['max_skew', 'max lead, updates'], ['workers', 'workers'],
    ['servers', 'servers'], ['cpu_seconds', 'processor seconds'], ['wall_seconds', 'wall seconds']
  ];
  // Shown elsewhere, or what was asked for and not found out.
  const NO_FIGURES = new Set([
    'seed', 'params', 'frozen_params', 'batch_size', 'global_batch', 'threads_per_worker', 'steps',
    'samples', 'targets', 'event_order', 'test_samples', 'validation_samples', 'test_evaluations',
    'staleness_bound', 'total_samples', 'total_updates', 'total_seconds', 'resumed_step'
  ]);
  // Those that this page has a name for, and all others that are not 0 everywhere.
  function figuresThere() {
    const named = FIGURES.filter(([k]) => anyOf(...k.split(' '))),
          known = new Set([...FIGURES.map(f => f[0]), ...metrics.map(m => m.key)]);
    const others = unique(runs.flatMap(run => isObject(run) ? Object.keys(run) : []))
                     .filter(k => !known.has(k) && !NO_FIGURES.has(k) &&
                         runs.some(run => Math.abs(number(run, k)) > 0));
    return [...named, ...others.slice(0, 24).map(k => [k, clean(k.replaceAll('_', ' '))])];
  }
  function allFigures() {
    const there = figuresThere(), shown = metrics.filter(m => groups.some(g => score(g, m).n));
    if (!runs.length) return null;
    return sheet('Run by run', groups.flatMap(g => g.runs.map(run => ({g, run}))), [
      ['strategy', ({g}) => g.label], ['#seed', ({run}) => figures(number(run, 'seed'), 15)],
      ...shown.map(m => [`#${titleOf(m)}`, ({run}) => figures(m.of(run) * factorOf(m), 6)]),
      ...there.map(([k, name]) =>
        [`#${name}`, ({run}) => figures(number(run, ...k.split(' ')), 6)]),
      ['digest of the weights', ({run}) => text(run, 'weights_digest')]
    ], 'values');
  }

  // --- comparison and tuning ---

  // Of each document, below its name where there are several.
  const bySource = build => sources.map(source => {
    const parts = [build(source)].flat(Infinity).filter(p => p);
    return parts.length ? [several ? el('h3', '', source.name) : null, parts] : null;
  });

  const pairs = () => bySource(source => {
    const tests = list(source.of, 'comparison', 'comparisons');
    const said = list(source.of, 'comparison', 'sentences').filter(s => typeof s === 'string');
    const factor = t => text(t, 'metric') === 'accuracy' ? 100 : 1;
    const ratio = t => text(t, 'metric').startsWith('target_');
    const difference = t => {
      const f = factor(t), ends = list(t, 'interval').map(v => figures(asNumber(v) * f, 3));
      return [
        figures(number(t, ratio(t) ? 'ratio' : 'difference') * f, 3), ratio(t) ? ' ×' : '',
        ends.length === 2 ? el('span', 'sd', ` (${ends[0]} to ${ends[1]})`) : ''
      ];
    };
    return [
      sentences(said),
      ifAny(tests, () => [
        sheet('Each strategy with each, paired by seeds; 95 % intervals, uncorrected', tests, [
          word('a', 'a'), word('b', 'b'),
          ['of', t => factor(t) > 1 ? 'accuracy, points' : ratio(t)
            ? `${text(t, 'metric').replace('target_', '')} to target` : text(t, 'metric')],
          num('seeds', 'n', 6), ['#a − b, or a / b', difference], num('p', 'p', 2),
          num('p, corrected', 'p_adjusted', 2), num('effect', 'effect value', 3),
          word('a is', 'verdict')
        ], 'values tests'),
        note('What a target took is compared as a ratio. p, corrected: by Holm, over all pairs; ',
          'below 0.05 a difference is significant. ',
          'Effect: the mean difference over its standard deviation.')
      ])
    ];
  });

  const tuning = () => bySource(source => {
    const tuned = object(source.of, 'tuning'), entries = list(tuned, 'entries'),
          f = text(tuned, 'metric') === 'accuracy' ? 100 : 1;
    const values = o => Object.keys(o).map(k => `${k} ${figures(asNumber(o[k]), 15)}`).join(', ');
    const edges = e => [
      isTrue(e, 'all_diverged') ? `${text(e, 'label')}: every candidate diverged. ` : '',
      ...Object.entries(object(e, 'at_edge')).map(([k, side]) =>
        `${text(e, 'label')}: ${k} is the ${typeof side === 'string' ? side : ''} tried: widen. `)];
    return ifAny(entries, () => [
      sheet('What was tried; the score is that of a candidate’s longest trials',
        entries.flatMap(e => list(e, 'candidates').map(c => ({e, c}))), [
          ['strategy', ({e}) => text(e, 'label')],
          ['candidate', ({c}) => values(object(c, 'values'))],
          ['#trials', ({c}) => figures(number(c, 'trials'), 6)],
          ['#samples', ({c}) => figures(number(c, 'samples'), 15)],
          [`#${text(tuned, 'metric')}${f > 1 ? ', %' : ''}`,
            ({c}) => figures(number(c, 'score') * f, 4)],
          ['chosen', ({c}) => isTrue(c, 'chosen') ? el('b', '', 'chosen') : '']
        ], 'values'),
      note(entries.flatMap(edges), `Each strategy had ${figures(number(tuned, 'total'), 6)} ` +
        `${text(tuned, 'unit')} to search with, on seeds that are not compared; scores are of ` +
        `${figures(number(tuned, 'validation_samples'), 15)} validation samples, ` +
        'and the test set was not read.')
    ]);
  });

  // --- time, waiting, staleness, losses, pipelines ---

  function times() {
    const shown =
      PHASES.map((_, i) => i).filter(i => i < 4 || groups.some(g => spent(g).of[i] > 0));
    // rows: [name, its time, what stands last]
    const sheetOf = (caption, first, last, rows, kind) => sheet(caption, rows, [
      [first, r => r[0]], ['', r => bar(shown.map(i => [`p${i}`, r[1].of[i] / r[1].all]))],
      ...shown.map(i => [swatch(i, `${PHASES[i]}, %`), r => percent(r[1].of[i], r[1].all), 'n']),
      [`#${last}`, r => r[2]]
    ], kind);
    return ifAny(groups.filter(g => spent(g).all > 0), there => [
      sheetOf('Time of all workers, of all runs together', 'strategy', rate[0],
        there.map(g => [[groups.length > 1 ? key(g) : '', g.label], spent(g),
          shortMean(mean(g, rate[1]))]), 'bars times'),
      drawn.map(g => {
        const n = most(g, run => list(run, 'time', 'workers')), step = Math.ceil(n / 32), rows = [];
        for (let w = 0; w < n; w += step) {
          const t = spent(g, w);
          if (t.all > 0) rows.push([w, t, figures(t.all / g.runs.length, 4)]);
        }
        return rows.length < 2 ? null : fold(`Workers of ${g.label}`,
          sheetOf(`${g.label}, worker by worker${step > 1 ? `: one of every ${step}` : ''}`,
            'worker', 'seconds per run', rows, 'bars'));
      })
    ]);
  }
  // The longest such list of a group's runs.
  const most = (g, listOf) => Math.min(4096, Math.max(0, ...g.runs.map(run => listOf(run).length)));

  const CAUSES = [
    ['compute', 'it computed longer'], ['load', 'it loaded longer'], ['stalled', 'it was stalled'],
    ['preempted', 'the system ran something else'], ['communicate', 'it communicated longer'],
    ['wait', 'it waited for a server or a processor']
  ];
  function waits() {
    const parts = drawn.map(g => {
      const ranks = run => list(run, 'waiting', 'by_rank'), n = most(g, ranks);
      const all = sum(g.runs.map(run => number(run, 'waiting', 'for_others'))), time = spent(g).all,
            of = (rank, k) => sum(g.runs.map(run => number(ranks(run)[rank], k)));
      if (n < 2 || !(all > .01 * time)) return null; // a hundredth of it is nothing to look into
      const cost = Array.from({length: n}, (_, rank) => ({rank, s: of(rank, 'cost_s')}))
                     .sort((a, b) => b.s - a.s || a.rank - b.rank);
      const worst = cost[0], causes = CAUSES.filter(([k]) => cost.some(c => of(c.rank, k) > 0));
      const reason = causes.reduce(
        (best, c) => best && of(worst.rank, best[0]) >= of(worst.rank, c[0]) ? best : c, null);
      const half = worst.s >= all / 2, share = percent(worst.s, all, 0),
            index = [...Array(n).keys()];
      const seconds = (i, j) =>
        sum(g.runs.map(run => asNumber(list(list(run, 'waiting', 'matrix'), i)[j])));
      const longest = n > 24 ? 0 : Math.max(...index.flatMap(i => index.map(j => seconds(i, j))));
      return [
        el('p', '',
          `${g.label}: workers waited for each other in ${percent(all, time, 0)} % of their time. `,
          half ? `Rank ${worst.rank} caused ${share} % of that`
               : `No rank caused half of that; rank ${worst.rank} caused most, ${share} %`,
          half && reason ? `; ${reason[1]}.` : '.'),
        sheet(`${g.label}: waiting caused by each rank, by cause`, cost.slice(0, 16), [
          ['rank', c => c.rank], ['', c => bar([[g.paint, c.s / all]])],
          ['#of the waiting, %', c => percent(c.s, all)], ['#seconds', c => figures(c.s, 4)],
          ...causes.map(([k]) => [`#${k}, s`, c => figures(of(c.rank, k), 4)])
        ], 'bars'),
        n > 16 ? note(`The 16 of ${n} ranks that caused most.`) : null,
        longest > 0 ? fold(`Who waited for whom under ${g.label}`,
          matrix('Seconds that a rank (down) waited for another (across)', 'rank',
            index.map(String), seconds, x => x / longest, () => 'right', x => figures(x, 3))) : null
      ];
    });
    return ifAny(parts.filter(p => p), there => [
      note('Where all wait for the last to come, the last is given what they waited. ',
        'Strategies whose workers hardly waited for each other are not here.'), there]);
  }

  function matrix(caption, corner, names, of, share, kind, format) {
    const cell = j => ({i}) => {
      const x = of(i, j), td = x > 0 ? format(x) : el('span', 'none', '·');
      return x > 0
        ? {shade: kind(i, j), share: Math.min(1, share(x, i)).toFixed(3), content: td} : td;
    };
    return sheet(caption, names.map((name, i) => ({name, i})),
      [[corner, ({name}) => name], ...names.map((name, j) => [name, cell(j), 'n'])], 'matrix');
  }

  function histogram(g) {
    const sums = [];
    for (const run of g.runs)
      list(run, 'staleness', 'histogram').forEach((v, i) => {
        if (asNumber(v) > 0) sums[i] = (sums[i] || 0) + asNumber(v);
      });
    const width = Math.floor((sums.length - 1) / 24) + 1, bins = [];
    sums.forEach((x, i) => {
      const b = Math.floor(i / width);
      bins[b] = (bins[b] || 0) + x;
    });
    return {
      width, bins: Array.from(bins, x => x || 0), all: sum(bins.filter(x => x)),
      name: b => width === 1 ? `${b}` : `${b * width} to ${(b + 1) * width - 1}`
    };
  }
  function staleChart(g, h) {
    const shares = h.bins.map(b => 100 * b / h.all);
    const said = `mean ${figures(mean(g, 'staleness', 'mean').mean, 3)}, at most ${
      figures(mean(g, 'staleness', 'max').most, 6)}`;
    const x = axis(0, h.bins.length * h.width), y = axis(0, Math.max(...shares), {whole: true});
    return picture('panel', `Staleness of ${g.label}`, said, [g.label, said], w => {
      const box = [besideTicks(y), 10, w - 14, 150];
      const {parts, at} = frame(box, x, y, 'staleness; % of updates');
      shares.forEach((share, b) => {
        const left = at.x(b * h.width), top = at.y(share);
        if (share > 0)
          parts.push(block('block', left + .5, top,
            Math.max(.5, at.x((b + 1) * h.width) - left - 1), Math.max(.7, 150 - top),
            `staleness ${h.name(b)}: ${share.toFixed(2)} %`, styleOf(g)));
      });
      return [192, parts];
    });
  }
  function staleness() {
    const stale = drawn.filter(g => mean(g, 'staleness', 'max').most > 0)
                    .map(g => ({g, h: histogram(g)}))
                    .filter(({h}) => h.all > 0);
    const plain = (title, ...keys) => [`#${title}`, ({g}) => plainMean(mean(g, ...keys))];
    const ofWorker = (title, k) => [`#${title}`, ({g, w}) => {
      const s = spread(g.runs.map(run => number(list(run, 'staleness', 'workers')[w], k)));
      return figures(k === 'max' ? s.most : s.mean, 4);
    }];
    const lost = groups.filter(g => mean(g, 'lost_updates', 'fraction').n),
          share = (g, k, digits) => figures(100 * mean(g, 'lost_updates', k).mean, digits);
    return ifAny(stale, () => [
      note(STALENESS, ' Strategies that are not here had none.'),
      el('div', 'panels', stale.map(({g, h}) => staleChart(g, h))),
      sheet('Effective learning rate and momentum, as theory predicts from staleness', stale, [
        ['strategy', ({g}) => g.label], plain('mean', 'staleness', 'mean'), plain('lr', 'lr'),
        plain('effective lr', 'asynchrony', 'effective_lr'),
        plain('momentum configured', 'asynchrony', 'explicit_momentum'),
        plain('from asynchrony', 'asynchrony', 'implicit_momentum'),
        plain('total', 'asynchrony', 'total_momentum')
      ], 'values'),
      ifAny(lost, () => sheet('Lost updates: weights written over another’s update; sampled',
        lost, [
        ['strategy', g => g.label], ['#lost, %', g => share(g, 'fraction', 3)],
        ['#95 % interval', g => `${share(g, 'low', 2)} to ${share(g, 'high', 2)}`]
      ], 'values')),
      fold('Values of these charts', sheet('Updates by staleness, all runs of a strategy',
        stale.flatMap(({g, h}) => h.bins.map((b, i) => ({g, h, b, i}))), [
          ['strategy', ({g}) => g.label], ['#staleness', ({h, i}) => h.name(i)],
          ['#updates', ({b}) => figures(b, 15)], ['#%', ({h, b}) => percent(b, h.all, 3)]
        ], 'values stale-values')),
      fold('Worker by worker',
        sheet('Staleness of each worker’s updates: means over the runs, most of all',
          stale.flatMap(({g}) => Array.from(
            {length: Math.min(64, list(g.runs[0], 'staleness', 'workers').length)},
            (_, w) => ({g, w}))), [
            ['strategy', ({g}) => g.label], ['#worker', ({w}) => w], ofWorker('updates', 'updates'),
            ofWorker('mean', 'mean'), ofWorker('median', 'p50'), ofWorker('99 %', 'p99'),
            ofWorker('most', 'max')
          ], 'values'))
    ]);
  }

  const losses = () => [
    ifAny(groups.flatMap(g => g.runs.flatMap(run => list(run, 'losses').map(l => ({g, run, l})))),
      lost => sheet('Lost ranks, in the order of their runs', lost, [
        ['strategy', ({g}) => g.label], ['#seed', ({run}) => figures(number(run, 'seed'), 15)],
        ['rank', ({l}) =>
          `${isTrue(l, 'server') ? 'server' : 'worker'} ${figures(number(l, 'rank'), 6)}`],
        ...[['at second', 'seconds'], ['pause, s', 'pause_s'], ['samples lost', 'samples_lost'],
          ['handed again', 'samples_again']].map(
          ([title, k]) => [`#${title}`, ({l}) => figures(number(l, k), 4)]),
        ['came back', ({l}) => isTrue(l, 'back') ? 'yes' : 'no'], ['how', ({l}) => text(l, 'how')]
      ], 'values')),
    groups.filter(g => mean(g, 'dropped', 'gradients').most > 0).map(g => {
      const [gradients, samples] =
        ['gradients', 'samples'].map(k => figures(mean(g, 'dropped', k).mean, 4));
      return el('p', '', `${g.label} dropped ${gradients} gradients that came too late, of ${
        samples} samples, in a run.`);
    })
  ];

  const pipelines = () => groups.slice(0, 16).map(g => {
    const p = object(g.runs[0], 'pipeline'), stages = list(p, 'stages');
    const busy = s => number(s, 'busy_seconds'), idle = s => number(s, 'wait_seconds'),
          all = s => busy(s) + idle(s), hundred = k => figures(100 * number(p, k), 3);
    return ifAny(stages, () => [
      sheet(`${g.label}: ${text(p, 'schedule')}, ${figures(number(p, 'micro_batches'), 6)} ` +
        `micro-batches${g.runs.length > 1 ? ' (first of its runs)' : ''}`, stages, [
        ['stage', s => `${stages.indexOf(s)}: layers ${text(s, 'layers')}`],
        ['', s => bar([['p1', busy(s) / all(s)], ['p3', idle(s) / all(s)]])],
        [swatch(1, 'busy, %'), s => percent(busy(s), all(s)), 'n'],
        [swatch(3, 'idle, %'), s => percent(idle(s), all(s)), 'n'],
        ['work, %', s => figures(100 * number(s, 'madds_share'), 3), 'n w2'],
        ['parameters', s => figures(number(s, 'params'), 15), 'n w2'],
        ['kept at once', s => figures(number(s, 'peak_micro_batches'), 6), 'n w2']
      ], 'bars'),
      Number.isNaN(number(p, 'bubble')) ? null : note('Bubble: ', hundred('bubble'),
        ' % of the stages’ time; of equal stages it would be ', hundred('bubble_formula'), ' %.'),
      schedule(g, p, stages.length)
    ]);
  });
  const WORK = new Map([
    ['F', ['fw', 'forward']], ['B', ['bw', 'backward']], ['D', ['bw', 'backward, data']],
    ['W', ['ww', 'backward, weights']]
  ]);
  // What each stage did in one step, when.
  function schedule(g, p, n) {
    const spans = list(p, 'step')
                    .filter(s => Array.isArray(s) && asNumber(s[0]) >= 0 && s[0] < n &&
                        asNumber(s[5]) > asNumber(s[4]))
                    .slice(0, 2000);
    if (!spans.length || n > 64) return null;
    const start = Math.min(...spans.map(s => s[4])),
          longest = Math.max(...spans.map(s => s[5])) - start;
    const [factor, unit] = longest < 1e-3 ? [1e6, 'µs'] : longest < 1 ? [1e3, 'ms'] : [1, 's'];
    const legend = ['numbers are micro-batches: ', el('i', 'swatch fw'), 'forward ',
      el('i', 'swatch bw'), 'backward ',
      spans.some(s => s[1] === 'W') ? [el('i', 'swatch ww'), 'backward, weights'] : ''];
    return picture('hero schedule', `Schedule of one step under ${g.label}`,
      `${n} stages, ${spans.length} forward and backward passes.`,
      ['One step of worker 0', legend], w => {
        const row = 26, bottom = 10 + n * row, x = axis(0, longest * factor), y = axis(0, 1);
        const {parts, at} =
          frame([62, 10, w - 14, bottom], x, {...y, ticks: []}, `${unit} since the step began`);
        for (let k = 0; k < n; k++)
          parts.push(svg('text', {class: 'e', x: 55, y: 10 + k * row + 17}, `stage ${k}`));
        for (const s of spans) {
          const [kind, word] = WORK.get(s[1]) || ['ww', 'other'], name = figures(asNumber(s[2]), 6);
          const [from, to] = [s[4], s[5]].map(t => (t - start) * factor),
                wide = at.x(to) - at.x(from), top = 10 + s[0] * row;
          parts.push(block(kind, at.x(from), top + 3, Math.max(.7, wide), row - 6,
            `stage ${s[0]}, ${word} of micro-batch ${name}: ${figures(from, 3)} to ${
              figures(to, 3)} ${unit}`));
          if (wide > 12 + 7 * name.length)
            parts.push(svg('text', {class: `in on-${kind}`, x: (at.x(from) + wide / 2).toFixed(1),
              y: top + 17, 'text-anchor': 'middle'}, name));
        }
        return [bottom + 42, parts];
      });
  }

  // --- classes ---

  const classesOf = o => isObject(list(o, 'classes')[0]) ? list(o, 'classes') : null;
  const confusion = all => {
    const names = all.map(c => text(c, 'name'));
    const answered = (i, j) => {
      const wrong = object(all[i], 'taken_for');
      if (i !== j) return positive(number(wrong, names[j]));
      return number(all[i], 'samples') - sum(Object.values(wrong).map(asNumber));
    };
    return all.length > 20 ? null
      : matrix('Confusion: classes down, answers across (samples)', 'class', names, answered,
          (x, i) => x / number(all[i], 'samples'), (i, j) => i === j ? 'right' : 'wrong',
          x => figures(x, 9));
  };
  const hundredth = (title, k, digits) =>
    [`#${title}, %`, o => figures(100 * number(o, k), digits)];
  const classScores = all => sheet('Class by class', all, [
    word('class', 'name'), num('samples', 'samples', 9), num('answers', 'answers', 9),
    hundredth('recall', 'recall', 4), hundredth('precision', 'precision', 4),
    hundredth('F1', 'f1', 4),
    ['taken for', c => {
      const taken = Object.entries(object(c, 'taken_for'));
      return taken.slice(0, 6).map(([k, v]) => `${k} (${figures(asNumber(v), 9)})`).join(', ') +
        (taken.length > 6 ? ', …' : '');
    }]
  ], 'values');
  function classes() {
    const having = drawn.map(g => ({g, run: g.runs.find(classesOf)})).filter(({run}) => run);
    return [
      bySource(source => {
        const all = classesOf(source.of), worst = list(source.of, 'worst').filter(isObject);
        return all && [confusion(all), classScores(all), ifAny(worst, () => sheet('Worst answers',
          worst, [
            num('row', 'row', 15), num('loss', 'loss', 4),
            hundredth('answered at', 'probability', 3),
            hundredth('right one at', 'truth_probability', 3), word('is', 'truth'),
            word('answered', 'answer')
          ], 'values'))];
      }),
      having.map(({g, run}) => {
        const all = classesOf(run), n = g.runs.length;
        return [
          having.length > 1 || n > 1 ? el('h3', '', g.label,
            n > 1 ? `, seed ${figures(number(run, 'seed'), 15)} of ${n} runs` : '') : null,
          confusion(all), having.length === 1 || all.length > 20 ? classScores(all) : null
        ];
      })
    ];
  }

  // --- measurements: a row each, of whatever kind ---

  const MEASURES = [
    ['time_us', 'p50'], ['samples_per_s'], ['measured', 'samples_per_s'], ['seconds'],
    ['busbw_gbs'], ['bubble']
  ];
  const SIZES = ['bytes', 'workers', 'ranks', 'stages', 'micro_batches', 'batch_size'];
  const NAMES = [
    'algorithm', 'setup', 'schedule', 'model', 'strategy', 'servers', 'transport', 'launch',
    'threads_per_worker', 'chunks'
  ];
  const scalar = v => ['number', 'string', 'boolean'].includes(typeof v);
  const fieldTitle = ([first, ...inner]) => [
    first.replace(/_us$/, ', µs').replace(/_gbs$/, ', GB/s').replace(/_per_s$/, '/s')
      .replace(/_seconds$/, ', s').replaceAll('_', ' '), ...inner].join(', ');
  const measureTitle = m => m[0] === 'time_us' ? 'median time, µs' : fieldTitle(m);
  const rowsOf = source => list(source.of, 'rows').filter(isObject);
  function benchTable(rows) {
    const fields = new Map();
    const add = (value, ...path) => {
      if (scalar(value) && fields.size < 64) fields.set(path.join(' '), path);
    };
    for (const row of rows)
      for (const [k, v] of Object.entries(row)) {
        add(v, k);
        if (isObject(v)) Object.entries(v).forEach(([inner, x]) => add(x, k, inner));
      }
    const measured = MEASURES.find(m => fields.has(m.join(' '))) || [''],
          isMeasure = path => path.join(' ') === measured.join(' ');
    const ops = opsOf(rows);
    const sorted = [...rows].sort((a, b) =>
      ops.indexOf(text(a, 'op')) - ops.indexOf(text(b, 'op')) ||
      (number(a, 'bytes') - number(b, 'bytes')) || 0);
    const varies = path =>
      isMeasure(path) || rows.some(r => get(r, ...path) !== get(rows[0], ...path));
    const block = r => text(r, 'op') ? `${text(r, 'op')} ${number(r, 'bytes')}` : '',
          blocks = new Map();
    for (const r of rows)
      blocks.set(block(r), Math.max(blocks.get(block(r)) || 0, positive(number(r, ...measured))));
    const isNumber = path => rows.some(r => typeof get(r, ...path) === 'number');
    const shown = (r, path) => {
      const v = get(r, ...path);
      if (typeof v === 'boolean') return v ? 'yes' : 'no';
      if (!isNumber(path)) return typeof v === 'string' ? v : '';
      return Math.abs(asNumber(v)) >= 1e8 ? short(asNumber(v)) : figures(asNumber(v), 5);
    };
    const all = [...fields.values()], varying = all.filter(varies);
    const shared = all.filter(path => !varies(path) && typeof get(rows[0], ...path) !== 'boolean')
                     .map(path => `${fieldTitle(path)} ${shown(rows[0], path)}`);
    return [
      shared.length ? note(`In all of them: ${shared.join(', ')}.`) : null,
      ifAny(varying, () => sheet('Measurements', sorted, varying.flatMap(path => [
        isMeasure(path) && ['', r => bar([['p1', number(r, ...path) / blocks.get(block(r))]])],
        [fieldTitle(path), r => shown(r, path), isNumber(path) ? 'n' : '']
      ]), 'values bars bench-values'))
    ];
  }
  // Of an operation a line for each algorithm (or whatever else differs): what was measured, by
  // size.
  const opsOf = rows => unique(rows.map(r => text(r, 'op')));
  const benchLines = (rows, measured) => opsOf(rows).slice(0, 24).map(op => {
    const mine = rows.filter(r => text(r, 'op') === op && number(r, ...measured) > 0),
          lines = new Map();
    const size =
      SIZES.find(k => unique(mine.map(r => number(r, k)).filter(x => x > 0)).length >= 3);
    const names = NAMES.filter(k => k !== size && unique(mine.map(r => get(r, k))).length > 1);
    const say = r => k => typeof get(r, k) === 'number'
      ? `${k.replaceAll('_', ' ')} ${get(r, k)}` : text(r, k);
    if (!size) return null;
    for (const r of mine) {
      const name = names.map(say(r)).join(' ') || op || 'measured', y = number(r, ...measured),
            x = number(r, size);
      if (!(x > 0)) continue;
      if (!lines.has(name)) lines.set(name, new Map());
      if (!lines.get(name).has(x)) lines.get(name).set(x, {x, y, least: y, most: y});
    }
    return {
      op: op || 'Measurements', size: size.replaceAll('_', ' '), whole: lines.size,
      lines: [...lines].slice(0, DRAWN).map(([name, points], variant) => ({
        paint: `var(--s-${PALETTE[variant]})`, variant, name, short: name,
        points: [...points.values()].sort((a, b) => a.x - b.x)
      }))
    };
  }).filter(found => found);
  const PALETTE = [
    'allreduce', 'ps-sync', 'ps-async', 'ssp', 'hogwild', 'local-sgd', 'elastic-averaging',
    'gossip', 'diloco', 'locked', 'backup-workers', 'other'
  ];
  // Sizes down, lines across; the best of each size stands out.
  function benchPivot({op, size, lines}, measured) {
    const at = (line, x) => line.points.find(p => p.x === x)?.y ?? NaN;
    const better =
      measured[0] === 'samples_per_s' || measured[0] === 'busbw_gbs' ? Math.max : Math.min;
    const best = x => better(...lines.map(line => at(line, x)).filter(v => v > 0));
    return sheet(`${op}: ${measureTitle(measured)}`,
      unique(lines.flatMap(line => line.points.map(p => p.x))).sort((a, b) => a - b), [
        [size, x => x.toLocaleString('en')],
        ...lines.map(line => [[key(line), line.name], x => {
          const v = at(line, x);
          return v === best(x) && lines.length > 1 ? el('b', '', figures(v, 4)) : figures(v, 4);
        }, 'n'])
      ], 'values pivot');
  }
  const bench = () => bySource(source => {
    const rows = rowsOf(source),
          measured = MEASURES.find(m => rows.some(r => number(r, ...m) > 0));
    if (!rows.length) return null;
    const found = measured ? benchLines(rows, measured) : [], all = benchTable(rows);
    const over = f => f.whole > DRAWN ? `; the first ${DRAWN} of ${f.whole} lines` : '';
    const charts = found.map((f, i) => lineChart({
      kind: i ? 'panel' : 'hero', title: f.op, lines: f.lines, xTitle: f.size, fromZero: false,
      xLog: 8, yLog: 8, more: measured[0] === 'samples_per_s',
      caption: `${measureTitle(measured)}${measured[0] === 'time_us' ? ',' : ''} over ${
        f.size}${over(f)}`
    }));
    return [
      charts[0], charts.length > 1 ? el('div', 'panels', charts.slice(1)) : null,
      found.map(f => benchPivot(f, measured)), found.length ? fold('All measurements', all) : all
    ];
  });
  // "Of 65,536 bytes, direct is the fastest: 1.93 µs."
  function benchConclusion() {
    const rows = sources.flatMap(rowsOf), wrong = rows.filter(r => number(r, 'wrong') > 0).length,
          time = r => number(r, 'time_us', 'p50');
    const mine = rows.filter(r => text(r, 'op') === text(rows[0], 'op') && time(r) > 0),
          largest = Math.max(...mine.map(r => number(r, 'bytes'))),
          last = mine.filter(r => number(r, 'bytes') === largest);
    const best = last.reduce((b, r) => b && time(b) <= time(r) ? b : r, null);
    const all =
      `${rows.length} measurements${wrong ? `, ${wrong} of them with wrong results` : ''}.`;
    return last.length < 2 || !text(best, 'algorithm') ? all
      : `${all} Of ${largest.toLocaleString('en')} bytes, ${
          text(best, 'algorithm')} is the fastest: ${figures(time(best), 3)} µs (median).`;
  }

  // --- settings ---

  const quoted = word =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
  const value = v => Array.isArray(v) ? v.map(value).join(', ')
    : typeof v === 'string' ? v : typeof v === 'number' ? figures(v, 10)
    : v === true ? 'yes' : v === false ? 'no' : DASH;
  function terms(title, o, keys = Object.keys(o)) {
    const there = keys.filter(k => ['string', 'number'].includes(typeof get(o, k)));
    const shown = k =>
      k === 'memory_bytes' ? `${(number(o, k) / 2 ** 30).toFixed(1)} GiB` : value(get(o, k));
    return ifAny(there, () => [el('h3', '', title), el('dl', '', there.map(k =>
      el('div', '', el('dt', '', k.replace(/_bytes$/, '').replaceAll('_', ' ')),
        el('dd', '', shown(k)))))]);
  }
  function button(words, click) {
    const node = el('button', {type: 'button'}, words);
    node.addEventListener('click', () => click(node));
    return node;
  }
  function settings() {
    return sources.map(source => {
      const words =
        list(source.of, 'command').map(w => quoted(typeof w === 'string' ? w : '')).join(' ');
      const config = object(source.of, 'config'),
            options = Object.keys(config).filter(k => !isObject(config[k]));
      const given = object(source.of, 'given'), option = ['option', k => k];
      const parts = [
        words ? el('pre', {class: 'command', tabindex: 0}, el('code', '', words)) : null,
        el('p', '',
          words && navigator.clipboard && button('Copy the command', node => navigator.clipboard
            .writeText(words).then(() => { node.textContent = 'Copied'; })),
          button('Save the JSON document', () => {
            const link = el('a', {download: 'hogring.json'});
            link.href = URL.createObjectURL(
              new Blob([JSON.stringify(source.of, null, 2)], {type: 'application/json'}));
            link.click();
          })),
        terms('Model', object(list(source.of, 'runs')[0]),
          ['model', 'params', 'optimizer', 'kernels', 'launch', 'clock']),
        terms('Data', object(config, 'data')),
        ifAny(Object.keys(given), all => sheet('Options that were given', all,
          [option, ['value', k => value(given[k])]], 'text')),
        ifAny(options, all => fold('All options', sheet('All options', all,
          [option, ['value', k => value(config[k])]], 'text'))),
        terms('Machine', object(source.of, 'machine')),
        terms('What decides bits', object(source.of, 'bits')),
        note(`hogring ${text(source.of, 'hogring')}${
          text(source.of, 'date') ? `, ${text(source.of, 'date')}` : ''}`)
      ];
      return several ? fold(source.name, parts) : parts;
    });
  }

  // --- the page: what it says first stands open, the rest is folded ---

  const fold = (title, ...content) => el('details', '', el('summary', '', title), content);
  const trained = groups.length > 0;
  // A document that breaks one part does not break the others.
  function part(id, title, open, build) {
    let content;
    try {
      content = [build()].flat(Infinity).filter(c => c || c === 0);
    } catch (error) {
      console.error(error);
      content = [note(`This could not be drawn: ${error.message}`)];
    }
    if (!content.length) return null;
    return open
      ? el('section', {'aria-label': title, id},
          id !== 'chart' && (trained || id !== 'measurements') ? el('h2', '', title) : null,
          content)
      : el('details', {class: 'part', id}, el('summary', '', el('h2', '', title)), content);
  }
  const conclusion = document.querySelector('.conclusion');
  const said = !runs.length && sources.flatMap(rowsOf).length ? benchConclusion() : '';
  const before = conclusion.textContent;
  append(conclusion, [conclusion.replaceChildren(), prose(said || before)]);
  document.querySelector('h1').before(
    el('p', 'origin', 'hogring ', several ? `report · ${sources.length} documents` : [
      list(sources[0].of, 'command').filter(w => typeof w === 'string')[1] || '', ' · ',
      text(sources[0].of, 'date')
    ]));
  const main = document.getElementById('main');
  const PARTS = [
    ['chart', 'The chart', true, heroChart], ['results', 'Results', true, results],
    ['why', 'Why', true, why], ['measurements', 'Measurements', !trained, bench],
    ['curves', 'All learning curves', false, curves],
    ['figures', 'All figures, run by run', false, allFigures],
    ['comparisons', 'All pairs of the comparison', false, pairs],
    ['tuning', 'Tuning', false, tuning], ['time', 'Where the time went', false, times],
    ['waits', 'Who was waited for', false, waits], ['staleness', 'Staleness', false, staleness],
    ['losses', 'What was lost', false, losses],
    ['pipelines', 'Pipelines', groups.length === 1, pipelines],
    ['classes', 'Classes', !trained, classes], ['settings', 'How it was made', false, settings]
  ];
  main.replaceChildren(...PARTS.map(p => part(...p)).filter(p => p));
  function redraw() {
    const width = Math.floor(main.clientWidth);
    if (width < 50) return;
    pageWidth = width;
    main.style.setProperty('--columns', panelColumns());
    for (const draw of redraws) draw();
  }
  redraw();
  window.addEventListener('resize', redraw);
  main.addEventListener('toggle', redraw, true);
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  window.addEventListener('hashchange', open);
  open();
})();
