// Plans from files that are opened or dropped: buffers as CSV, a plan's document (alone, or in what
// `ashlar plan --json --buffers` writes), pages like this one; and what `ashlar verify --json` saw of
// a plan that is shown.
function documentsOf(name, text) {
  if (/\.csv$/i.test(name)) return [documentOfCsv(text, name)];
  if (/\.html?$/i.test(name)) {
    const plans = new DOMParser().parseFromString(text, "text/html").getElementById("plans");
    if (!plans) throw new Error("this page has no plans");
    return JSON.parse(plans.textContent);
  }
  const document = JSON.parse(text);
  return [document.plan ?? document];
}

async function openFiles(app, files) {
  for (const file of files) {
    try {
      const documents = documentsOf(file.name, await file.text()), [{command, pools}] = documents;
      if (command === "verify") app.verified(pools.arena);
      else app.add(documents.map(document => new Plan(document)));
      app.say("");
    } catch (error) {
      app.say(`${file.name}: ${error.message}`);
    }
  }
}

function watchFiles(app) {
  byId("file").addEventListener("change", event => openFiles(app, event.target.files));
  const over = shown => event => {
    event.preventDefault();
    document.body.classList.toggle("drop", shown);
  };
  addEventListener("dragover", over(true));
  addEventListener("dragleave", over(false));
  addEventListener("drop", event => {
    over(false)(event);
    openFiles(app, event.dataTransfer.files);
  });
}
