// Converts numbers of bytes to and from readable text.
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

function formatBytes(bytes) {
  let value = Math.abs(bytes), unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    ++unit;
  }
  return (bytes < 0 ? "-" : "") + (Number.isInteger(value) ? value : value.toFixed(2)) + " " + UNITS[unit];
}

const formatCount = number => number.toLocaleString("en-US").replaceAll(",", "\u202f");

const exactBytes = bytes =>
    bytes < 1024 ? formatBytes(bytes) : `${formatCount(bytes)} bytes (${formatBytes(bytes)})`;

const signedBytes = bytes => (bytes > 0 ? "+" : "") + formatBytes(bytes);

// Parses "1MiB", "1.5 MB", "4096" to bytes; returns NaN for any other text.
function parseBytes(text) {
  const match = /^(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgt])(i?))?b?$/i.exec(text.trim());
  if (!match) return NaN;
  const power = match[2] ? "kmgt".indexOf(match[2].toLowerCase()) + 1 : 0;
  return Number(match[1]) * (match[3] ? 1024 : 1000) ** power;
}
