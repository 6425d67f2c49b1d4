// The engine looks at the time limit once in some thousand steps of a script, and a built-in function is one step,
// however long it takes. So those that could take minutes are called only with what takes well below a second, and
// those that go through much are followed by empty steps, so that a loop of them is stopped in time.

(function () {
  "use strict";
  const { defineProperty } = Object, apply = Reflect.apply, text = String;
  const LONGEST = 1e7, MOST_STEPS = 1e9;

  function work(size, share) {
    for (let left = size; left > 0; left -= share);
  }

  const size = (value) => typeof value === "string" ? value.length : 0;

  function guard(target, names, check) {
    for (const name of names) {
      const method = target[name];
      if (method === undefined) continue;
      const guarded = { [name](...given) {
        check(this, given);
        const result = apply(method, this, given);
        if (typeof result === "string") work(result.length, 512);
        return result;
      } }[name];
      defineProperty(target, name, { value: guarded });
    }
  }

  function bounded(list) {
    if (list !== null && typeof list === "object" && list.length > LONGEST) {
      throw new RangeError(`a list has at most ${LONGEST} elements here, not ${list.length}`);
    }
  }

  function sized(list) {
    if (list === null || typeof list !== "object") return work(size(list), 512);
    bounded(list);
    work(list.length, 64);
  }

  const looping = "concat copyWithin every fill filter find findIndex findLast findLastIndex flat flatMap forEach " +
    "includes indexOf join lastIndexOf map reduce reduceRight reverse shift slice some sort splice toLocaleString " +
    "toReversed toSorted toSpliced unshift with";
  guard(Array.prototype, looping.split(" "), (list, given) => {
    sized(list);
    for (let index = 0; index < given.length; index++) sized(given[index]);
  });
  guard(Array, ["from", "of"], (_, given) => sized(given[0]));
  guard(String, ["raw"], (_, given) => bounded(given[0]?.raw));
  guard(Object.getPrototypeOf(Uint8Array.prototype), [...looping.split(" "), "set"], (list, given) => {
    sized(list);
    sized(given[0]);
  });
  guard(String.prototype, ["includes", "indexOf", "lastIndexOf", "replace", "replaceAll", "split"], (subject, given) => {
    const length = text(subject).length;
    if (typeof given[0] === "string" && length * given[0].length > MOST_STEPS) {
      throw new RangeError("the texts are too long to look for one in the other");
    }
    work(length, 64);
  });
  const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  if (iterators.drop) guard(iterators, ["drop"], (_, given) => bounded({ length: given[0] }));

  // These take one or two arguments, which are handed on without a list.
  const reading = "endsWith localeCompare normalize padEnd padStart repeat slice startsWith substr substring " +
    "toLocaleLowerCase toLocaleUpperCase toLowerCase toUpperCase toWellFormed trim trimEnd trimStart";
  for (const name of reading.split(" ")) {
    const call = Function.prototype.call.bind(String.prototype[name]);
    const guarded = { [name](first, second) {
      const result = call(this, first, second);
      const length = size(this) + size(result) + size(first);
      if (length > 512) work(length, 512);
      return result;
    } }[name];
    defineProperty(String.prototype, name, { value: guarded });
  }
  for (const name of ["decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "unescape"]) {
    const call = globalThis[name];
    const guarded = { [name](given) {
      const result = call(given);
      if (result.length > 512) work(result.length, 64);
      return result;
    } }[name];
    defineProperty(globalThis, name, { value: guarded });
  }
  const { parse, stringify } = JSON;
  defineProperty(JSON, "parse", { value: function (source, reviver) {
    const result = parse(source, reviver);
    work(size(source), 64);
    return result;
  } });
  defineProperty(JSON, "stringify", { value: function (value, replacer, space) {
    const result = stringify(value, replacer, space);
    if (result !== undefined) work(result.length, 64);
    return result;
  } });

  // Writing JSON asks every object for `toJSON`: the getter is a step, so that lists that hold one list many times over
  // are written no longer than the time limit.
  defineProperty(Object.prototype, "toJSON", {
    get() { return undefined; },
    set(value) {
      if (this === Object.prototype) throw new TypeError("toJSON of a prototype cannot be replaced");
      defineProperty(this, "toJSON", { value, writable: true, enumerable: true, configurable: true });
    },
  });
})()
