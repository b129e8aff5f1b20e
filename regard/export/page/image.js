// An image classifier: the image as the model reads it, and the probability of each label.
function task({ image: side, channels, resize, mean, std, labels }) {
  const file = make("input", { type: "file", accept: "image/*", name: "file" });
  const canvas = make("canvas", { width: side, height: side });
  form.append(make("label", {}, "image"), file, make("button", { className: "wide" }, "Classify"));
  file.addEventListener("change", () => form.requestSubmit());
  return async ({ session, tensor }) => {
    if (!file.files.length) throw new Error("Choose an image first.");
    const picture = await createImageBitmap(file.files[0]);
    draw(canvas, picture, resize);
    const pixels = canvas.getContext("2d").getImageData(0, 0, side, side).data;
    const values = new Float32Array(channels * side * side);
    for (let place = 0; place < side * side; place += 1) {
      const [red, green, blue] = pixels.subarray(4 * place, 4 * place + 3);
      const grey = (19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16;
      (channels === 1 ? [grey] : [red, green, blue]).forEach((value, channel) => {
        values[channel * side * side + place] = (value / 255 - mean[channel]) / std[channel];
      });
    }
    const { logits } = await session.run({ pixel_values: tensor("float32", values, [1, channels, side, side]) });
    const chances = softmax(logits.data);
    answer.replaceChildren(canvas, bars(labels.map((label, place) => [label, chances[place]])));
    document.body.dataset.probabilities = JSON.stringify(chances);
  };
}

function draw(canvas, picture, resize) {
  const [context, side] = [canvas.getContext("2d", { willReadFrequently: true }), canvas.width];
  context.fillStyle = resize === "pad" ? "black" : "white"; // transparent pixels become white
  context.fillRect(0, 0, side, side);
  context.imageSmoothingQuality = "high";
  const scale = resize === "crop" ? Math.max(side / picture.width, side / picture.height) : side / Math.max(picture.width, picture.height);
  const [width, height] = resize === "stretch" ? [side, side] : [scale * picture.width, scale * picture.height];
  context.drawImage(picture, (side - width) / 2, (side - height) / 2, width, height);
}

start();
