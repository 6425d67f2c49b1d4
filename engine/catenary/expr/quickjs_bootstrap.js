// Gives a function that compiles a script: its result is the function to call for each message, or, when the source
// is wrong, a text. That function returns booleans, numbers and nothing as they are, all else as text: the JSON of the
// result, or `!` and the JSON of `[error text, stack]`. (Strings as such would be cut at the first NUL, and those made
// by `+` cannot be read when they are long, hence `join`.)

(function () {
  "use strict";
  const { parse, stringify } = JSON;
  const { create, defineProperty, freeze, getOwnPropertyNames, hasOwn, preventExtensions, setPrototypeOf, values } = Object;
  const isArray = Array.isArray, join = Array.prototype.join, apply = Reflect.apply, text = String;
  let subject, raw;

  // `data` is an accessor on prototypes, so that it is no key of the payload: `typeof msg`, `Object.keys(msg)` and
  // `JSON.stringify(msg)` do not see it. An object gets a prototype of its own, for on `Object.prototype` every object
  // of the script would have it.
  const data = {
    get() { return this === subject ? raw : undefined; },
    set(value) {
      defineProperty(this, "data", { value, writable: true, enumerable: true, configurable: true });
    },
  };
  const ofObject = preventExtensions(create(Object.prototype, { data }));
  const ofArray = preventExtensions(create(Array.prototype, { data }));
  for (const type of [String, Number, Boolean]) defineProperty(type.prototype, "data", data);

  // What a message brings under `__proto__` must not reach the next message: `Object.prototype` takes nothing new, and
  // what it has is shadowed, never replaced. (Frozen, it would forbid every object a `toString` of its own.)
  for (const name of getOwnPropertyNames(Object.prototype)) {
    const value = Object.prototype[name];
    if (name === "__proto__") continue;
    defineProperty(Object.prototype, name, {
      configurable: false,
      get() { return value; },
      set(other) {
        if (this === Object.prototype) throw new TypeError(`Object.prototype.${name} cannot be replaced`);
        defineProperty(this, name, { value: other, writable: true, enumerable: true, configurable: true });
      },
    });
  }
  preventExtensions(Object.prototype);

  // The engine looks at the time limit between the steps of a script, not within one built-in function: those that
  // can take minutes are called only with what takes well below a second.
  const LONGEST = 1e7, MOST_STEPS = 1e9;
  const LARGEST = 2n ** 14000n; // what Python still writes as decimal digits

  function guard(target, names, check) {
    for (const name of names) {
      const method = target[name];
      const guarded = { [name](...given) {
        check(this, given);
        return apply(method, this, given);
      } }[name];
      defineProperty(target, name, { value: guarded });
    }
  }

  function bounded(list) {
    if (list !== null && typeof list === "object" && list.length > LONGEST) {
      throw new RangeError(`a list has at most ${LONGEST} elements here, not ${list.length}`);
    }
  }

  const looping = "concat copyWithin every fill filter find findIndex findLast findLastIndex flat flatMap forEach " +
    "includes indexOf join lastIndexOf map reduce reduceRight reverse shift slice some sort splice toLocaleString " +
    "unshift";
  guard(Array.prototype, looping.split(" "), (list, given) => {
    bounded(list);
    for (let index = 0; index < given.length; index++) bounded(given[index]);
  });
  guard(String, ["raw"], (_, given) => bounded(given[0]?.raw));
  guard(String.prototype, ["includes", "indexOf", "lastIndexOf", "replace", "replaceAll", "split"], (subject, given) => {
    if (typeof given[0] === "string" && text(subject).length * given[0].length > MOST_STEPS) {
      throw new RangeError("the texts are too long to look for one in the other");
    }
  });
  const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  if (iterators.drop) guard(iterators, ["drop"], (_, given) => bounded({ length: given[0] }));

  function read(kind, payload, bytes) {
    if (kind === 1) return payload;
    if (kind === 2) return parse(bytes);
    try {
      return parse(payload);
    } catch (error) {
      if (error === null || error instanceof InternalError) throw error;
      return kind === 0 && payload.trim() === "" ? {} : payload;
    }
  }

  function expose(msg) {
    if (typeof msg !== "object" || msg === null) return;
    if (isArray(msg)) setPrototypeOf(msg, ofArray);
    else if (!hasOwn(msg, "data")) setPrototypeOf(msg, ofObject);
  }

  function describe(thrown) {
    const isError = thrown instanceof Error;
    const isPlain = typeof thrown === "object" && thrown !== null && !isError;
    const told = [text(isPlain ? stringify(thrown) : thrown), isError ? text(thrown.stack) : ""];
    return apply(join, ["!", stringify(told)], [""]);
  }

  function answer(result) {
    switch (typeof result) {
      case "string": return stringify(result);
      case "object": return result === null ? null : stringify(result);
      case "bigint":
        if (result > LARGEST || result < -LARGEST) throw new RangeError("the number has too many digits");
        return result;
      case "function": case "symbol": return undefined;
      default: return result;
    }
  }

  function deepFreeze(value) {
    if (typeof value !== "object" || value === null) return value;
    values(value).forEach(deepFreeze);
    return freeze(value);
  }

  return function (name, parameters, source, names, finish) {
    for (const [key, value] of Object.entries(parse(names))) {
      defineProperty(globalThis, key, { value: deepFreeze(value) });
    }
    const finished = finish && (0, eval)(finish);
    let body;
    try {
      body = new Function(`return function ${name}(${parameters}) {"use strict";\n${source}\n}`)();
    } catch (error) {
      return describe(error);
    }
    return function (kind, payload, bytes, metadata, msgType, dataType) {
      try {
        const msg = read(kind, payload, bytes);
        subject = msg;
        raw = payload;
        expose(msg);
        const own = metadata === "{}" ? {} : parse(metadata);
        const result = body(msg, own, msgType, dataType);
        return answer(finish ? finished(result, own, dataType) : result);
      } catch (error) {
        return describe(error);
      } finally {
        subject = raw = undefined;
      }
    };
  };
})()
