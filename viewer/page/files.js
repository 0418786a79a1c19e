// Reads plans from opened or dropped files: buffers as CSV, a plan's document (alone, or in the
// output of `ashlar plan --json --buffers`), and pages like this one. Also reads the output of
// `ashlar verify --json` for a visible plan.
function documentsOf(name, text) {
  if (/\.csv$/i.test(name)) return [documentOfCsv(text, name)];
  if (/\.html?$/i.test(name)) {
    const plans = new DOMParser().parseFromString(text, "text/html").getElementById("plans");
    if (!plans) throw new Error("this page has no plans");
    return JSON.parse(plans.textContent);
  }
  if (/\.(pickle|pkl)$/i.test(name)) {
    throw new Error("a memory snapshot of PyTorch: ashlar plan FILE.pickle -o plan.html makes its page");
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
