// The engine looks at the time limit once in some thousand steps of a script, and a built-in function is one step,
// however long it takes. So those that could take minutes are called only with what takes well below a second, and
// those that go through much are followed by empty steps, so that a loop of them is stopped in time.
//
// Its value is a function that bounds texts, and all buffers until it is called again, in bytes: for V8, which counts
// buffers in no limit, and texts that were repeated only when they are read.

(function () {
  "use strict";
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object, { apply, construct } = Reflect;
  const text = String, number = Number, LONGEST = 1e7, MOST_STEPS = 1e9;
  let longest = Infinity, left = Infinity;

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
      if (size(result) > longest) throw new RangeError("Invalid string length");
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

  // Typed arrays and buffers. What a new one is filled from is read once, so that it cannot be longer the second time.
  const Typed = getPrototypeOf(Uint8Array), listFrom = Array.from;
  const getter = (prototype, key) => Function.prototype.call.bind(getOwnPropertyDescriptor(prototype, key).get);
  const kindOf = getter(Typed.prototype, Symbol.toStringTag), lengthOf = getter(Typed.prototype, "length");
  const bytesOf = getter(Typed.prototype, "byteLength"), bufferBytes = getter(ArrayBuffer.prototype, "byteLength");

  function spend(bytes) {
    if (bytes > left) throw new RangeError("Array buffer allocation failed");
    if (bytes > 0) left -= bytes;
  }

  function isBuffer(value) {
    try {
      return bufferBytes(value) >= 0;
    } catch {
      return false;
    }
  }

  function limit(name, prepare) {
    const original = globalThis[name];
    if (original === undefined) return;
    const width = original.BYTES_PER_ELEMENT;
    const limited = new Proxy(original, {
      construct(target, given, as) {
        prepare(given, width);
        return construct(target, given, as);
      },
    });
    defineProperty(original.prototype, "constructor", { value: limited });
    defineProperty(globalThis, name, { value: limited });
  }

  function prepareTyped(given, width) {
    const source = given[0];
    if (source === null || (typeof source !== "object" && typeof source !== "function")) {
      return spend(number(source) * width);
    }
    if (isBuffer(source)) return;
    if (kindOf(source) === undefined) given[0] = listFrom(source);
    const length = kindOf(source) === undefined ? given[0].length : lengthOf(source);
    bounded({ length });
    spend(length * width);
    work(length, 64);
  }

  const kinds = "Int8 Uint8 Uint8Clamped Int16 Uint16 Int32 Uint32 BigInt64 BigUint64 Float16 Float32 Float64";
  for (const kind of kinds.split(" ")) limit(`${kind}Array`, prepareTyped);
  limit("ArrayBuffer", (given) => {
    given[0] = number(given[0]);
    const most = given[1] === undefined || given[1] === null ? undefined : given[1].maxByteLength;
    given[1] = most === undefined ? undefined : { maxByteLength: number(most) };
    spend(most === undefined ? given[0] : given[1].maxByteLength);
  });
  guard(Typed, ["from", "of"], (_, given) => sized(given[0]));
  guard(Typed.prototype, ["toReversed", "toSorted", "with"], (list) => spend(bytesOf(list)));
  guard(ArrayBuffer.prototype, ["transfer", "transferToFixedLength"], (buffer, given) => {
    if (given[0] !== undefined) given[0] = number(given[0]);
    spend(given[0] ?? bufferBytes(buffer));
  });
  guard(Uint8Array, ["fromBase64", "fromHex"], (_, given) => spend(size(given[0])));

  // Writing JSON asks every object for `toJSON`: the getter is a step, so that lists that hold one list many times over
  // are written no longer than the time limit.
  defineProperty(Object.prototype, "toJSON", {
    get() { return undefined; },
    set(value) {
      if (this === Object.prototype) throw new TypeError("toJSON of a prototype cannot be replaced");
      defineProperty(this, "toJSON", { value, writable: true, enumerable: true, configurable: true });
    },
  });

  return (bytes) => {
    longest = left = bytes;
  };
})()
