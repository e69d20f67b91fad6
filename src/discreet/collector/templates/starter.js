const told = document.getElementById("told"), ask = document.getElementById("ask");

ask.addEventListener("submit", async (event) => {
  event.preventDefault();
  told.textContent = "Sending …";
  try {
    const { value, valueAsNumber, type } = ask.elements.value;
    await client.report("answer", type === "number" ? valueAsNumber : value); // charged, randomised, kept
    const { sent, waiting, refused } = await client.flush(); // reports that are not acknowledged are sent again unchanged
    const { life } = await client.spent();
    told.textContent = `${sent} sent, ${waiting} waiting, ${refused} refused. This browser has spent ε = ${life} so far.`;
  } catch (error) {
    told.textContent = `Not sent: ${error.message}.`;
  }
});
