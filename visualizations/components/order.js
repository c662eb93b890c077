// A list of processors; each row has a button up and a button down.
const { el, fill } = window.Lab;
const box = element.querySelector(".lab-order");
const words = JSON.parse(box.dataset.words);
const list = box.querySelector("ol");
let order = JSON.parse(props.value);

function move(index, by) {
  const [name] = order.splice(index, 1);
  order.splice(index + by, 0, name);
  draw();
  props.value = JSON.stringify(order);
  const row = list.children[index + by];
  (row.querySelector(by < 0 ? "[data-way=up]" : "[data-way=down]:not(:disabled)") || row.querySelector("button")).focus();
}

function button(index, way, by, name) {
  const label = fill(words[way], { name });
  const off = index + by < 0 || index + by >= order.length;
  return el("button", { type: "button", "data-way": way, "aria-label": label, title: label, disabled: off, onclick: () => move(index, by) }, way === "up" ? "↑" : "↓");
}

function draw() {
  list.replaceChildren(
    ...order.map((name, index) => el("li", { "data-name": name }, el("span", {}, words.labels[name]), button(index, "up", -1, words.labels[name]), button(index, "down", 1, words.labels[name]))),
  );
}
draw();
watch("value", () => {
  if (props.value === JSON.stringify(order)) return;
  order = JSON.parse(props.value);
  draw();
});
