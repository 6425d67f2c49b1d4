// One global scope in which many scripts live, for any engine. Its value is `enter`, the only way in:
//
// - `enter(-1, setup)` compiles a script and gives its number, or `!` and what is wrong.
// - `enter(-2, number)` forgets a script.
// - `enter(-3, functions)` puts the names of the host in place; then the host's scripts may be run as global code.
// - `enter(-4)` freezes all that scripts share: what one message changes must not reach the next.
// - `enter(-5)` gives what an interrupted script still waits for, as `?` and the request, or nothing.
// - `enter(-6, number, kind)` gives the way to one script for messages of the data type `JSON`: a function of
//   `(payload, metadata, msgType)`, which is quicker. Metadata is empty text where there is none.
// - `enter(number, kind, payload, bytes, metadata, msgType, dataType, record)` runs a script on any message. Booleans,
//   numbers and nothing come back as they are, all else as text: JSON, or `!` and the JSON of `[error text, stack]`, or
//   `?` and the JSON of a request to the host. The host answers, and runs the script again with what is on record.
//
// It is evaluated before the guards, and so reads and writes the JSON of a message without them.

(function () {
  "use strict";
  const { parse, stringify } = JSON;
  const {
    create, defineProperty, entries, freeze, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, preventExtensions,
    setPrototypeOf, values,
  } = Object;
  const { apply, construct, ownKeys } = Reflect;
  const isArray = Array.isArray, join = Array.prototype.join, text = String, floor = Math.floor;
  const trim = Function.prototype.call.bind(String.prototype.trim);
  const compile = (0, eval)("Function");
  const LARGEST = 2n ** 14000n; // what Python still writes as decimal digits
  const MOST_TIMES = 1000;
  const scripts = [], free = [], unreached = [], NOTHING = freeze([]);
  let subject, raw, names = freeze({});
  let running = false, recalls = false, answers = NOTHING, at = 0, pending, seed, state = 0, times, reads = 0;

  // `data` is an accessor on prototypes, so that it is no key of the payload: `typeof msg`, `Object.keys(msg)` and
  // `JSON.stringify(msg)` do not see it. An object gets a prototype of its own, for on `Object.prototype` every object
  // of the script would have it.
  const data = {
    get() { return this === subject ? raw : undefined; },
    set(value) {
      defineProperty(this, "data", { value, writable: true, enumerable: true, configurable: true });
    },
  };
  const ofObject = create(Object.prototype, { data });
  const ofArray = create(Array.prototype, { data });
  for (const type of [String, Number, Boolean]) defineProperty(type.prototype, "data", data);

  // Time and chance are on record: when a script is run again it must go the same way.
  const RealDate = Date, realNow = Date.now, realRandom = Math.random;

  function now() {
    if (!running) return realNow();
    recalls = true;
    times ??= [];
    if (reads >= times.length) {
      if (times.length === MOST_TIMES) return times[MOST_TIMES - 1] + floor((++reads - MOST_TIMES) / 1000);
      times[times.length] = realNow();
    }
    return times[reads++];
  }

  function draw() {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  function random() {
    if (!running) return realRandom();
    recalls = true;
    if (seed === undefined) seed = state = floor(realRandom() * 2 ** 31);
    return ((draw() >>> 5) * 2 ** 26 + (draw() >>> 6)) / 2 ** 53;
  }

  const ScriptDate = function Date(...given) {
    if (new.target === undefined) return text(new RealDate(now()));
    return construct(RealDate, given.length === 0 ? [now()] : given, new.target);
  };
  for (const key of ["parse", "UTC"]) defineProperty(ScriptDate, key, { value: RealDate[key] });
  defineProperty(ScriptDate, "now", { value: now });
  defineProperty(ScriptDate, "length", { value: 7 });
  defineProperty(ScriptDate, "prototype", { value: RealDate.prototype, writable: false });
  defineProperty(RealDate.prototype, "constructor", { value: ScriptDate });
  globalThis.Date = ScriptDate;
  Math.random = random;

  // What is no part of the language, reaches outside, or would be remembered.
  const ABSENT = "Atomics DOMException FinalizationRegistry Intl SharedArrayBuffer WeakRef WebAssembly atob btoa " +
    "console performance queueMicrotask";
  for (const name of ABSENT.split(" ")) delete globalThis[name];
  delete Error.prepareStackTrace;
  defineProperty(Error, "stackTraceLimit", { value: 10, writable: false, configurable: true });

  // The host

  const REQUEST = freeze(new Error("the script is run again with the answer of the host"));

  function ask(name, given) {
    if (!running) throw new Error(`${name} can be called only while a message is handled`);
    recalls = true;
    while (given.length > 0 && given[given.length - 1] === undefined) given.length--;
    const asked = JSON.stringify([name, given]); // guarded, for a script may ask in a loop
    if (pending !== undefined) throw REQUEST; // a script may have caught it: nothing happens in this round any more
    if (at < answers.length) {
      const [question, worked, answered] = answers[at++];
      if (question === asked) {
        if (worked) return answered === "" ? undefined : JSON.parse(answered);
        throw new Error(answered);
      }
      pending = null;
    } else {
      pending = asked;
    }
    throw REQUEST;
  }

  function lent(name, known, form) {
    return { [known](...given) { return ask(name, form === undefined ? given : [form(given[0])]); } }[known];
  }

  function methods(name, list, form) {
    const object = {};
    for (const method of list) object[method] = lent(`${name}.${method}`, method, form);
    return object;
  }

  function context() {
    const object = methods("$ctx", ["GetSelfId"]);
    for (const cache of ["ChainCache", "GlobalCache"]) {
      const view = methods(`$ctx.${cache}`, ["Get", "Has", "Delete", "GetByPrefix", "DeleteByPrefix"], text);
      const name = `$ctx.${cache}.Set`;
      view.Set = (key, value = null, ttl = "") => ask(name, [text(key), value, text(ttl)]);
      unreached.push(view);
      object[cache] = () => view;
    }
    for (const [name, key] of [["Self", "GetSelfId"], ["RuleChain", "GetChainId"]]) {
      const id = lent(`$ctx.${key}`, key);
      object[name] = () => freeze({ GetNodeId: () => ({ Id: id() }) });
    }
    return object;
  }

  function install(functions) {
    for (const [name, list] of entries({ ...functions, $ctx: null })) {
      const value = name === "$ctx" ? context() : list === null ? lent(name, name) : methods(name, list);
      defineProperty(globalThis, name, { value });
    }
    for (const name of ["vars", "global"]) {
      if (!hasOwn(globalThis, name)) defineProperty(globalThis, name, { get() { return names[name]; } });
    }
  }

  // Freezing: an object of a script may still have a property of its own by the name of one that its prototype has.

  const OVERRIDDEN = "constructor hasOwnProperty isPrototypeOf message name propertyIsEnumerable toJSON toLocaleString " +
    "toString valueOf";

  function open(home) {
    for (const name of OVERRIDDEN.split(" ")) {
      const described = getOwnPropertyDescriptor(home, name);
      if (described === undefined || !described.configurable || !hasOwn(described, "value")) continue;
      const value = described.value;
      defineProperty(home, name, {
        enumerable: described.enumerable,
        get() { return value; },
        set(other) {
          if (this === home) throw new TypeError(`${name} of a prototype cannot be replaced`);
          defineProperty(this, name, { value: other, writable: true, enumerable: true, configurable: true });
        },
      });
    }
  }

  function hidden() {
    const found = [ofObject, ofArray, REQUEST, getPrototypeOf(compile), ...unreached];
    const makers = [function* () {}, async function () {}, async function* () {}];
    for (const maker of makers) found.push(getPrototypeOf(maker), getPrototypeOf(maker.prototype ?? maker));
    const iterables = [[], "", new Map(), new Set()];
    for (const one of iterables) found.push(getPrototypeOf(one[Symbol.iterator]()));
    found.push(getPrototypeOf("".matchAll(/x/g)), getPrototypeOf(Uint8Array), getPrototypeOf(Uint8Array.prototype));
    if (typeof Iterator === "function") {
      const wrapped = { next() { return { done: true }; } };
      found.push(getPrototypeOf([].values().map(text)), getPrototypeOf(Iterator.from(wrapped)));
      if (Iterator.concat) found.push(getPrototypeOf(Iterator.concat([])));
    }
    return found;
  }

  function seal() {
    const seen = new Set(), waiting = [globalThis, ...hidden()];
    while (waiting.length > 0) {
      const value = waiting.pop();
      if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
      seen.add(value);
      if (typeof value === "object" && value !== globalThis && hasOwn(value, "constructor")) open(value);
      if (value === Function.prototype) open(value);
      for (const key of ownKeys(value)) {
        const described = getOwnPropertyDescriptor(value, key);
        waiting.push(described.value, described.get, described.set);
      }
      waiting.push(getPrototypeOf(value));
    }
    for (const value of seen) {
      if (ArrayBuffer.isView(value)) preventExtensions(value);
      else freeze(value);
    }
  }

  // Scripts

  const namesByText = create(null), finishers = create(null); // scripts share what is the same

  function deepFreeze(value) {
    if (typeof value !== "object" || value === null) return value;
    values(value).forEach(deepFreeze);
    return freeze(value);
  }

  function add(setup) {
    const { name, parameters, source, names: given, finish } = parse(setup);
    const own = namesByText[given] ??= deepFreeze(parse(given));
    const known = Object.keys(own).join(), before = known && `const {${known}} = given; `;
    let body;
    try {
      const whole = `function ${name}(${parameters}) {"use strict";\n${source}\n}`;
      // A source that closes the function itself is told here, where what stands behind it is never run.
      if (text(compile(`return ${name}; ${whole}`)()) !== whole) throw new SyntaxError("Unexpected token '}'");
      body = compile("given", `${before}return ${whole}`)(own);
    } catch (error) {
      return describe(error);
    }
    if (typeof body.prototype === "object") freeze(body.prototype);
    freeze(body);
    const number = free.length > 0 ? free.pop() : scripts.length;
    if (finish !== "") finishers[finish] ??= (0, eval)(finish);
    scripts[number] = { body, names: own, finish: finishers[finish] };
    return number;
  }

  function drop(number) {
    if (scripts[number] === undefined) return;
    scripts[number] = undefined;
    free.push(number);
  }

  function manage(what, given, more) {
    switch (what) {
      case -1: return add(given);
      case -2: return drop(given);
      case -3: return install(parse(given));
      case -4: return seal();
      case -5: return waits();
      case -6: return entrance(scripts[given], more);
    }
  }

  function read(kind, payload, bytes) {
    if (kind === 1) return payload;
    if (kind === 2) return parse(bytes);
    try {
      return parse(payload);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return kind === 0 && trim(payload) === "" ? {} : payload;
    }
  }

  function expose(msg) {
    if (isArray(msg)) setPrototypeOf(msg, ofArray);
    else if (!hasOwn(msg, "data")) setPrototypeOf(msg, ofObject);
  }

  function joined(parts) {
    return apply(join, parts, [""]); // what `+` makes cannot be read by quickjs when it is long
  }

  function describe(thrown) {
    const isError = thrown instanceof Error;
    const isPlain = typeof thrown === "object" && thrown !== null && !isError;
    return joined(["!", stringify([text(isPlain ? stringify(thrown) : thrown), isError ? text(thrown.stack) : ""])]);
  }

  function waits() {
    if (pending === undefined) return undefined;
    return joined(["?", stringify([pending === null ? null : pending, seed, times])]);
  }

  function answer(result) {
    switch (typeof result) {
      case "string": return stringify(result);
      case "object": return result === null ? null : stringify(result);
      case "bigint":
        if (result > LARGEST || result < -LARGEST) throw new RangeError("the number has too many digits");
        return text(result); // quickjs gives no small ones to Python, and mini-racer none
      case "function": case "symbol": return undefined;
      default: return result;
    }
  }

  // What a finisher gives back; a space in front tells of large numbers.
  function write(value, hasLarge) {
    const told = stringify(value);
    return hasLarge ? joined([" ", told]) : told;
  }

  function forget() {
    recalls = false;
    pending = seed = times = undefined;
    at = reads = 0;
    answers = NOTHING;
  }

  function remember(record) {
    const kept = parse(record);
    recalls = true;
    answers = kept[0];
    seed = kept[1] ?? undefined;
    if (seed !== undefined) state = seed;
    times = kept[2] ?? undefined;
  }

  function run(script, kind, payload, bytes, metadata, msgType, dataType) {
    raw = payload;
    names = script.names;
    running = true;
    try {
      const msg = subject = read(kind, payload, bytes);
      if (typeof msg === "object" && msg !== null) expose(msg);
      const own = metadata === "" ? {} : parse(metadata);
      const { body, finish } = script; // called by their own names, so that `this` is undefined in them
      const result = body(msg, own, msgType, dataType);
      const told = finish === undefined ? answer(result) : finish(result, own, msgType, dataType, write);
      return pending === undefined ? told : waits();
    } catch (error) {
      return pending === undefined ? describe(error) : waits();
    } finally {
      running = false;
      subject = raw = undefined;
    }
  }

  function entrance(script, kind) {
    return (payload, metadata, msgType) => {
      if (recalls) forget();
      return run(script, kind, payload, "", metadata, msgType, "JSON");
    };
  }

  return function (number, kind, payload, bytes, metadata, msgType, dataType, record) {
    if (number < 0) return manage(number, kind, payload);
    forget();
    if (record !== "") remember(record);
    return run(scripts[number], kind, payload, bytes, metadata, msgType, dataType);
  };
})()
