// Takes apart what a transform script returned: gives `[form, payload, metadata, msgType, dataType]`, each null where
// the message keeps what it has. What the rules refuse is thrown as a text, without a place in the script.

(function () {
  "use strict";
  const KEPT = 0, TEXT = 1, VALUE = 2, BYTES = 3; // forms; js_transform.py has the same
  const DEEPEST = 900;
  const { parse, stringify } = JSON;
  const { create, getPrototypeOf, hasOwn, keys, prototype } = Object;
  const isArray = Array.isArray, from = Array.from, isView = ArrayBuffer.isView, isWhole = Number.isInteger;
  const text = String, kindOf = Function.prototype.call.bind(prototype.toString);
  const boxes = { "[object String]": String, "[object Number]": Number, "[object Boolean]": Boolean };

  function isMap(value) {
    if (typeof value !== "object" || value === null) return false;
    return getPrototypeOf(value) === prototype || kindOf(value) === "[object Object]";
  }

  // The shortest digits that mean a number, never with an exponent.
  function decimal(number) {
    if (number === Infinity) return "+Inf";
    if (number === -Infinity) return "-Inf";
    const shown = text(number), at = shown.indexOf("e");
    if (at < 0) return shown;
    const sign = number < 0 ? "-" : "", shift = +shown.slice(at + 1);
    const digits = shown.slice(sign.length, at).replace(".", "");
    return shift < 0 ? `${sign}0.${"0".repeat(-shift - 1)}${digits}` : sign + digits.padEnd(shift + 1, "0");
  }

  // JSON.stringify would write NaN as null and leave functions out: what JSON cannot hold is refused instead.
  function verify(value, name, depth) {
    switch (typeof value) {
      case "number":
        if (value - value !== 0) throw `${name}: ${decimal(value)} cannot be written as JSON`;
        return;
      case "function": case "symbol": case "bigint":
        throw `${name}: a ${typeof value} cannot be written as JSON`;
      case "object":
        if (value !== null && typeof value.toJSON !== "function") verifyItems(value, name, depth + 1);
    }
  }

  function verifyItems(value, name, depth) {
    if (depth > DEEPEST) throw `${name}: the value is nested too deeply, or holds itself`;
    if (value instanceof Promise) throw `${name}: a Promise is not awaited`;
    if (isArray(value)) {
      for (let index = 0; index < value.length; index++) {
        const item = value[index], kind = typeof item;
        if (kind !== "string" && kind !== "boolean") verify(item, name, depth);
      }
      return;
    }
    for (const key in value) {
      const item = value[key], kind = typeof item;
      if (kind !== "string" && kind !== "boolean" && hasOwn(value, key)) verify(item, key, depth);
    }
  }

  function unboxed(value) {
    const box = boxes[kindOf(value)];
    return box === undefined ? value : box(value);
  }

  // The text form of a value: nothing is empty, objects are JSON, times as RFC 3339.
  function textual(value, name) {
    if (typeof value === "object" && value !== null) value = unboxed(value);
    switch (typeof value) {
      case "string": return value;
      case "number": return decimal(value);
      case "boolean": case "bigint": return text(value);
      case "undefined": return "";
    }
    if (value === null) return "";
    if (value instanceof Date) return value.toISOString();
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
    const result = create(null); // on which `__proto__` is a key like any other
    if (typeof entries !== "object" || entries === null || isArray(entries)) return result;
    const names = keys(entries), form = returned === given ? written : textual;
    for (let index = 0; index < names.length; index++) {
      const name = names[index], value = entries[name];
      if (name !== "") result[name] = typeof value === "string" ? value : form(value, name);
    }
    return result;
  }

  function isByte(value) {
    return isWhole(value) && value >= 0 && value <= 255;
  }

  // A list of numbers, where the data type says that numbers are bytes.
  function bytes(list) {
    for (let index = 0; index < list.length; index++) {
      if (typeof list[index] !== "number") return false;
    }
    const wrong = list.findIndex((value) => !isByte(value));
    if (wrong < 0) return true;
    throw `byte array element at index ${wrong} has invalid value ${list[wrong]}: must be integer in range 0-255`;
  }

  function payload(value, dataType) {
    if (typeof value !== "object" || value === null) {
      if (typeof value === "function" || typeof value === "symbol") verify(value, "msg", 0);
      return [TEXT, textual(value, "msg")];
    }
    if (isArray(value) || (isView(value) && !(value instanceof DataView))) return list(value, dataType);
    if (value instanceof ArrayBuffer) return [BYTES, from(new Uint8Array(value))];
    if (getPrototypeOf(value) !== prototype && !isMap(value)) {
      value = unboxed(value);
      if (typeof value !== "object" || value instanceof Date) return [TEXT, textual(value, "msg")];
    }
    verify(value, "msg", 0);
    return [VALUE, value];
  }

  function list(value, dataType) {
    if (value instanceof Uint8Array || value instanceof Uint8ClampedArray) return [BYTES, from(value)];
    if (isView(value)) value = from(value);
    if ((dataType === "BINARY" || dataType === "TEXT") && bytes(value)) return [BYTES, value];
    verify(value, "msg", 0);
    return [VALUE, value];
  }

  return function (result, metadata, dataType) {
    if (!isMap(result)) throw "return the value is not a map";
    const newDataType = result.dataType === undefined ? "" : textual(result.dataType, "dataType");
    const [form, data] = hasOwn(result, "msg") ? payload(result.msg, newDataType || dataType) : [KEPT, null];
    return [
      form,
      data,
      hasOwn(result, "metadata") ? texts(result.metadata, metadata) : null,
      hasOwn(result, "msgType") ? textual(result.msgType, "msgType") : null,
      newDataType === "" ? null : newDataType,
    ];
  };
})()
