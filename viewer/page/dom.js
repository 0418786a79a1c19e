// Creates elements of the page. Text stays text: it is never parsed as HTML.
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "click") made.addEventListener("click", value);
    else if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const byId = id => document.getElementById(id);

const button = (text, click, title) => element("button", {class: "link", type: "button", title, click}, text);

// The name is cut at its begin to fit (.tail): ends distinguish the names of a network.
const nameButton = (name, click) => element("button", {class: "link tail", type: "button", click}, element("bdi", {}, name));

// Returns a list of terms and descriptions: text, an element, or a list of them.
function definitions(pairs) {
  const list = element("dl");
  for (const [term, what] of pairs) {
    if (what === "" || what === null) continue;
    list.append(element("dt", {}, term), element("dd", {}, ...(Array.isArray(what) ? what : [what])));
  }
  return list;
}

function download(name, type, text) {
  const link = element("a", {download: name, href: URL.createObjectURL(new Blob([text], {type}))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
