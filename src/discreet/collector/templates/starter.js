const told = document.getElementById("told"), ask = document.getElementById("ask");

ask.addEventListener("submit", async (event) => {
  event.preventDefault();
  told.textContent = "Sending …";
  try {
    const { value, valueAsNumber, type, dataset } = ask.elements.value;
    const answer = dataset.several ? value.split(",").map(Number) : type === "number" ? valueAsNumber : value;
    await client.report("answer", answer); // charged, randomised, kept
    const { sent, waiting, refused } = await client.flush(); // reports that are not acknowledged are sent again unchanged
    const { life } = await client.spent();
    told.textContent = `${sent} sent, ${waiting} waiting, ${refused} refused. This browser has spent ε = ${life} so far.`;
  } catch (error) {
    told.textContent = `Not sent: ${error.message}.`;
  }
});
