// The engine looks at the time limit between the steps of a script, not within one built-in function: those that can
// take minutes are called only with what takes well below a second.

(function () {
  "use strict";
  const { defineProperty } = Object, apply = Reflect.apply, text = String;
  const LONGEST = 1e7, MOST_STEPS = 1e9;

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
    "toReversed toSorted toSpliced unshift with";
  guard(Array.prototype, looping.split(" "), (list, given) => {
    bounded(list);
    for (let index = 0; index < given.length; index++) bounded(given[index]);
  });
  guard(Array, ["from"], (_, given) => bounded(given[0]));
  guard(String, ["raw"], (_, given) => bounded(given[0]?.raw));
  guard(String.prototype, ["includes", "indexOf", "lastIndexOf", "replace", "replaceAll", "split"], (subject, given) => {
    if (typeof given[0] === "string" && text(subject).length * given[0].length > MOST_STEPS) {
      throw new RangeError("the texts are too long to look for one in the other");
    }
  });
  const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  if (iterators.drop) guard(iterators, ["drop"], (_, given) => bounded({ length: given[0] }));
})()
