// Elements of the page. Text becomes text: nothing is ever parsed as HTML.
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

// As much of the end of a name as has room: the end tells names of a network apart (.tail cuts it).
const nameButton = (name, click) => element("button", {class: "link tail", type: "button", click}, element("bdi", {}, name));

// Pairs of a term and what it is: text, an element, or a list of them.
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
