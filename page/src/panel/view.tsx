// What is drawn, and how well.

import { elements, hasElements, quality, ruler, wireframe } from "../stage/options";
import { QUALITY_CHOICES, type QualityChoice } from "../stage/quality";
import { Section } from "./fields";
import { remember, remembered } from "./remember";

const QUALITY_NAMES: Record<QualityChoice, string> = { auto: "Automatic", high: "High", low: "Low" };
const QUALITY_HINTS: Record<QualityChoice, string> = {
  auto: "As much as this machine draws in time.",
  high: "Every pixel has its own light, however long that takes.",
  low: "As little as can be read.",
};

/** What was chosen on an earlier visit; before the stage is there. */
export function startView(): void {
  const chosen = QUALITY_CHOICES.find((one) => one === remembered("quality"));
  if (chosen) quality.value = chosen;
  wireframe.value = remembered("wireframe") === "on";
}

export function setQuality(choice: QualityChoice): void {
  quality.value = choice;
  remember("quality", choice);
}

export function toggleWireframe(): void {
  wireframe.value = !wireframe.peek();
  remember("wireframe", wireframe.peek() ? "on" : "off");
}

export function toggleElements(): void {
  if (hasElements.peek()) elements.value = !elements.peek();
}

export function toggleRuler(): void {
  ruler.value = !ruler.peek();
}

function Check({ id, label, on, toggle }: { id: string; label: string; on: boolean; toggle: () => void }) {
  return (
    <label class="check">
      <input type="checkbox" id={id} checked={on} onChange={toggle} />
      {label}
    </label>
  );
}

export function ViewSection() {
  return (
    <Section id="view" title="View">
      <div class="field">
        <span id="quality-label">Drawing</span>
        <fieldset class="segments" aria-labelledby="quality-label" aria-describedby="quality-hint">
          {QUALITY_CHOICES.map((choice) => (
            <label key={choice}>
              <input
                type="radio"
                name="quality"
                value={choice}
                checked={quality.value === choice}
                onChange={() => setQuality(choice)}
              />
              <span>{QUALITY_NAMES[choice]}</span>
            </label>
          ))}
        </fieldset>
        <p class="hint" id="quality-hint">
          {QUALITY_HINTS[quality.value]}
        </p>
      </div>
      <div class="checks">
        <Check id="wireframe" label="Edges of the mesh" on={wireframe.value} toggle={toggleWireframe} />
        {hasElements.value && (
          <Check id="elements" label="Tetrahedra one by one" on={elements.value} toggle={toggleElements} />
        )}
        <Check id="ruler" label="Ruler: click two points" on={ruler.value} toggle={toggleRuler} />
      </div>
    </Section>
  );
}
