// Takes apart what a transform script returned: writes `[form, payload, metadata, msgType, dataType]`, each null where
// the message keeps what it has. What the rules refuse is thrown as a text, without a place in the script.

(function () {
  "use strict";
  const KEPT = 0, TEXT = 1, VALUE = 2, BYTES = 3; // forms; js_transform.py has the same
  const DEEPEST = 200, LARGE = 2 ** 53, OBJECT = "[object Object]";
  const { parse, stringify } = JSON;
  const { create, getPrototypeOf, hasOwn, keys, prototype, values } = Object;
  const isArray = Array.isArray, from = Array.from, isView = ArrayBuffer.isView, isWhole = Number.isInteger;
  const text = String, kindOf = Function.prototype.call.bind(prototype.toString);
  const boxes = { "[object String]": String, "[object Number]": Number, "[object Boolean]": Boolean };

  function isMap(value) {
    if (typeof value !== "object" || value === null) return false;
    return getPrototypeOf(value) === prototype || kindOf(value) === OBJECT;
  }

  function isFinite(number) {
    return number - number === 0;
  }

  function nameOf(number) {
    return number > 0 ? "+Inf" : number < 0 ? "-Inf" : "NaN";
  }

  let hasLarge; // whether there may be a number that JavaScript does not know to the last digit

  // JSON.stringify would write NaN as null and leave functions out: what JSON cannot hold is refused instead.
  function verify(value, name, depth) {
    if (value.toJSON !== undefined && typeof value.toJSON === "function") {
      hasLarge = true;
      return;
    }
    if (depth > DEEPEST) throw `${name}: the value is nested more than ${DEEPEST} levels deep, or holds itself`;
    if (value instanceof Promise) throw `${name}: a Promise is not awaited`;
    const items = isArray(value) ? value : values(value);
    for (let index = 0; index < items.length; index++) {
      const item = items[index];
      switch (typeof item) {
        case "string": case "boolean": case "undefined":
          break;
        case "number":
          if (item < LARGE && item > -LARGE) break;
          if (item - item !== 0) refuse(nameOf(item), value, index, name);
          hasLarge = true;
          break;
        case "object":
          if (item !== null) verify(item, items === value ? name : keys(value)[index], depth + 1);
          break;
        default:
          refuse(`a ${typeof item}`, value, index, name);
      }
    }
  }

  function refuse(what, value, index, name) {
    throw `${isArray(value) ? name : keys(value)[index]}: ${what} cannot be written as JSON`;
  }

  function unboxed(value) {
    const box = boxes[kindOf(value)];
    return box === undefined ? value : box(value);
  }

  // The text form of a value: nothing is empty, objects are JSON, times as RFC 3339. The digits of a number are written
  // where the message is at hand, which knows integers that JavaScript does not.
  function textual(value, name) {
    if (typeof value === "object" && value !== null) value = unboxed(value);
    switch (typeof value) {
      case "string": return value;
      case "number":
        if (!(value < LARGE && value > -LARGE)) hasLarge = true;
        return isFinite(value) ? value : nameOf(value);
      case "boolean": case "bigint": return text(value);
      case "undefined": return "";
    }
    if (value === null) return "";
    if (value instanceof Date) return value.toISOString();
    if (typeof value !== "object") throw `${name}: a ${typeof value} cannot be written as JSON`;
    verify(value, name, 0);
    return stringify(value);
  }

  // On the object that came in, values become text as JavaScript writes them, but an object says what is in it.
  function written(value, name) {
    if (value === null || value === undefined) return "";
    return typeof value === "object" ? textual(value, name) : text(value);
  }

  function texts(returned, given) {
    let entries = returned;
    if (typeof returned === "string") {
      try {
        entries = parse(returned);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return {};
      }
    }
    if (typeof entries !== "object" || entries === null || isArray(entries)) return {};
    const items = values(entries);
    for (let index = 0; index < items.length; index++) {
      if (typeof items[index] !== "string") return converted(entries, returned === given ? written : textual);
    }
    return entries;
  }

  function converted(entries, form) {
    const result = create(null); // on which `__proto__` is a key like any other
    for (const name of keys(entries)) {
      const value = entries[name];
      result[name] = typeof value === "string" ? value : form(value, name);
    }
    return result;
  }

  function isByte(value) {
    return isWhole(value) && value >= 0 && value <= 255;
  }

  // A list of numbers, where the data type says that numbers are bytes.
  function areBytes(list) {
    for (let index = 0; index < list.length; index++) {
      if (typeof list[index] !== "number") return false;
    }
    const wrong = list.findIndex((value) => !isByte(value));
    if (wrong < 0) return true;
    throw `byte array element at index ${wrong} has invalid value ${list[wrong]}: must be integer in range 0-255`;
  }

  // Also the payload that came in: its prototype is one without a constructor.
  function isPlain(value) {
    const home = getPrototypeOf(value);
    return home === prototype || (home !== null && getPrototypeOf(home) === prototype && !hasOwn(home, "constructor"));
  }

  let payload;

  // Sets `payload`, and gives the form it has.
  function takePayload(value, dataType) {
    if (typeof value !== "object" || value === null) {
      payload = textual(value, "msg");
      return TEXT;
    }
    if (isPlain(value)) {
      verify(value, "msg", 0);
      payload = value;
      return VALUE;
    }
    if (isArray(value) || (isView(value) && !(value instanceof DataView))) return takeList(value, dataType);
    if (kindOf(value) !== OBJECT) {
      value = unboxed(value);
      if (value instanceof ArrayBuffer) return takeList(new Uint8Array(value), dataType);
      if (typeof value !== "object" || value instanceof Date) return takePayload(textual(value, "msg"), dataType);
    }
    verify(value, "msg", 0);
    payload = value;
    return VALUE;
  }

  function takeList(value, dataType) {
    payload = isView(value) ? from(value) : value;
    if (value instanceof Uint8Array || value instanceof Uint8ClampedArray) return BYTES;
    if ((dataType === "BINARY" || dataType === "TEXT") && areBytes(payload)) return BYTES;
    verify(payload, "msg", 0);
    return VALUE;
  }

  return function (result, metadata, msgType, dataType, write) {
    if (!isMap(result)) throw "return the value is not a map";
    hasLarge = false;
    payload = null;
    const newType = result.dataType === undefined ? "" : textual(result.dataType, "dataType");
    const form = hasOwn(result, "msg") ? takePayload(result.msg, newType || dataType) : KEPT;
    const entries = hasOwn(result, "metadata") ? texts(result.metadata, metadata) : null;
    const type = hasOwn(result, "msgType") ? result.msgType : msgType;
    const newMsgType = type === msgType ? null : textual(type, "msgType");
    return write([form, payload, entries, newMsgType, newType], hasLarge);
  };
})()
