// Reads plans from opened or dropped files: buffers as CSV, a plan's document (alone, or in the
// output of `ashlar plan --json --buffers`), pages like this one, and memory snapshots of PyTorch.
// Also reads the output of `ashlar verify --json` for a visible plan.
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

async function documentsIn(file) {
  if (!/\.(pickle|pkl)$/i.test(file.name)) return documentsOf(file.name, await file.text());
  return documentsOfSnapshot(new Uint8Array(await file.arrayBuffer()), file.name);
}

async function openFiles(app, files) {
  for (const file of files) {
    try {
      const documents = await documentsIn(file), [{command, pools, note}] = documents;
      if (command === "verify") app.verified(pools.arena);
      else app.add(documents.map(document => new Plan(document)));
      app.say(note ?? "");
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
