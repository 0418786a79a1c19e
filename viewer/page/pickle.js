// Reads the data of Python's pickle files, protocols 2 to 5: numbers, texts, lists, tuples and
// dictionaries. A pickle is a program for a stack machine, and some of its instructions import and
// call Python functions. This reader knows none of these: it names the first one and refuses the
// file. Source of the instructions: the comments of Python's pickletools module.
const MOST_VALUES = 2 ** 24;

const UTF8 = new TextDecoder("utf-8", {ignoreBOM: true});

const RUNS = "imports or runs Python code, which this reader never does";
const OUTSIDE = "refers to an object outside of the file";
const OLD = "is of protocol 0 or 1; write the file with protocol 2 or later";
const SET = "makes a set, which no snapshot has";
const REFUSED = {
  "c": ["GLOBAL", RUNS], "\x93": ["STACK_GLOBAL", RUNS], "R": ["REDUCE", RUNS], "b": ["BUILD", RUNS], "i": ["INST", RUNS],
  "o": ["OBJ", RUNS], "\x81": ["NEWOBJ", RUNS], "\x92": ["NEWOBJ_EX", RUNS], "\x82": ["EXT1", RUNS], "\x83": ["EXT2", RUNS],
  "\x84": ["EXT4", RUNS], "P": ["PERSID", OUTSIDE], "Q": ["BINPERSID", OUTSIDE], "\x97": ["NEXT_BUFFER", OUTSIDE],
  "\x98": ["READONLY_BUFFER", OUTSIDE], "\x8f": ["EMPTY_SET", SET], "\x90": ["ADDITEMS", SET], "\x91": ["FROZENSET", SET],
  "I": ["INT", OLD], "L": ["LONG", OLD], "F": ["FLOAT", OLD], "S": ["STRING", OLD], "V": ["UNICODE", OLD], "l": ["LIST", OLD],
  "d": ["DICT", OLD], "p": ["PUT", OLD], "g": ["GET", OLD],
};

// The effect of each instruction on the machine `m`.
const INSTRUCTIONS = {
  "\x80": m => m.protocol(m.number(1)),
  "\x95": m => m.number(8) > m.left && m.wrong("the file ends inside a frame"),
  "(": m => m.marks.push(m.stack.length),
  "0": m => m.bottom === m.stack.length && m.marks.length > 0 ? m.aboveMark() : m.above(1),  // as in Python
  "1": m => m.aboveMark(),
  "2": m => m.push(m.top),
  "N": m => m.push(null), "\x88": m => m.push(true), "\x89": m => m.push(false),
  "K": m => m.push(m.number(1)), "M": m => m.push(m.number(2)), "J": m => m.push(m.number(4) | 0),
  "\x8a": m => m.push(m.long(m.number(1))), "\x8b": m => m.push(m.long(m.number(4))),
  "G": m => m.push(m.skip(8)),
  "U": m => m.push(m.text(1)), "\x8c": m => m.push(m.text(1)), "T": m => m.push(m.text(4)), "X": m => m.push(m.text(4)),
  "\x8d": m => m.push(m.text(8)),
  "C": m => m.push(m.skip(m.number(1))), "B": m => m.push(m.skip(m.number(4))), "\x8e": m => m.push(m.skip(m.number(8))),
  "\x96": m => m.push(m.skip(m.number(8))),
  "]": m => m.push([]), "}": m => m.push(new Map()), ")": m => m.push(Object.freeze([])),
  "\x85": m => m.push(Object.freeze(m.above(1))), "\x86": m => m.push(Object.freeze(m.above(2))),
  "\x87": m => m.push(Object.freeze(m.above(3))), "t": m => m.push(Object.freeze(m.aboveMark())),
  "a": m => m.append(m.above(1)), "e": m => m.append(m.aboveMark()),
  "s": m => m.set(m.above(2)), "u": m => m.set(m.aboveMark()),
  "q": m => m.memo.set(m.number(1), m.top), "r": m => m.memo.set(m.number(4), m.top), "\x94": m => m.memo.set(m.memo.size, m.top),
  "h": m => m.push(m.stored(m.number(1))), "j": m => m.push(m.stored(m.number(4))),
  ".": m => m.stop(),
};

// Each instruction makes at most one value, so the work is linear in the file.
class PickleMachine {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = this.start = this.values = 0;  // start: of the present instruction
    this.stack = [];
    this.marks = [];  // sizes of the stack
    this.memo = new Map();
    this.stopped = false;
  }

  run() {
    while (!this.stopped) {
      this.start = this.at;
      const code = String.fromCharCode(this.number(1));
      if (!Object.hasOwn(INSTRUCTIONS, code)) this.refuse(code);
      INSTRUCTIONS[code](this);
    }
    if (this.left > 0) this.wrong("more bytes after the end of the data");
    return this.stack.at(-1);
  }

  wrong(why) { throw new Error(`byte ${this.start}: ${why}`); }

  refuse(code) {
    if (!Object.hasOwn(REFUSED, code)) this.wrong(`0x${code.charCodeAt(0).toString(16).padStart(2, "0")} is no instruction of a pickle`);
    const [name, why] = REFUSED[code];
    let names = [];
    if (code === "\x93") names = this.stack.slice(-2).filter(value => typeof value === "string");
    if (code === "c" || code === "i") {
      names = new TextDecoder("latin1").decode(this.bytes.subarray(this.at, this.at + 200)).split("\n").slice(0, 2);
    }
    this.wrong(`instruction ${name}${names.length === 2 ? ` (${names.map(part => part.slice(0, 60)).join(".")})` : ""} ${why}`);
  }

  get left() { return this.bytes.length - this.at; }
  get bottom() { return this.marks.at(-1) ?? 0; }  // of the entries above the last mark
  get top() {
    if (this.stack.length <= this.bottom) this.wrong("too few values are on the stack");
    return this.stack.at(-1);
  }

  // Reads a little-endian number. One beyond 2^53 is rounded.
  number(bytes) {
    if (this.left < bytes) this.wrong("the file ends early");
    let number = 0;
    for (let i = bytes; i-- > 0;) number = number * 256 + this.bytes[this.at + i];
    this.at += bytes;
    return number;
  }

  long(bytes) {
    if (bytes > 8) this.wrong(`an integer of ${bytes} bytes; at most 8 are read`);
    const number = this.number(bytes);
    return bytes > 0 && this.bytes[this.at - 1] > 127 ? number - 256 ** bytes : number;
  }

  // Passes bytes over: floats, and bytes that are no text. No snapshot's memory depends on them.
  skip(bytes) {
    if (bytes > this.left) this.wrong("the file ends inside a value");
    this.at += bytes;
    return null;
  }

  text(lengthBytes) {
    const length = this.number(lengthBytes), begin = this.at;
    this.skip(length);
    return UTF8.decode(this.bytes.subarray(begin, begin + length));
  }

  push(value) {
    if (++this.values > MOST_VALUES) this.wrong(`more than ${MOST_VALUES} values`);
    this.stack.push(value);
  }

  // Removes and returns the last entries.
  above(count) {
    if (this.stack.length - this.bottom < count) this.wrong("too few values are on the stack");
    return this.stack.splice(this.stack.length - count);
  }

  aboveMark() {
    if (this.marks.length === 0) this.wrong("no mark is on the stack");
    return this.stack.splice(this.marks.pop());
  }

  append(items) {
    if (!Array.isArray(this.top) || Object.isFrozen(this.top)) this.wrong("items for a value that is no list");
    for (const item of items) this.top.push(item);
  }

  set(items) {
    if (!(this.top instanceof Map)) this.wrong("items for a value that is no dictionary");
    if (items.length % 2 !== 0) this.wrong("a key without a value");
    for (let i = 0; i < items.length; i += 2) this.top.set(items[i], items[i + 1]);
  }

  stored(index) {
    if (!this.memo.has(index)) this.wrong(`value ${index} was never stored`);
    return this.memo.get(index);
  }

  protocol(version) {
    if (version < 2 || version > 5) this.wrong(`protocol ${version}, expected 2 to 5`);
  }

  stop() {
    if (this.stack.length === 0 || this.marks.length > 0) this.wrong("the end of the data, without one value");
    this.stopped = true;
  }
}

const readPickle = bytes => new PickleMachine(bytes).run();
