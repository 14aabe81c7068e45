// The scenes in the order in which people like to meet them; what is not here comes at the end.

import type { SceneChoice } from "../../messages";

export const GROUPS: readonly [string, readonly string[]][] = [
  ["Cloth", ["tablecloth", "hanging-cloth", "dress", "garment-on-body", "s0", "cloth-heap", "noodles"]],
  ["Soft bodies", ["armadillo", "cube", "bar", "falling-cube", "s1", "s2", "flattened-body", "dragon", "double-helix", "box"]],
  ["Soft and rigid", ["falling-bodies", "box-on-jelly", "cloth-on-moving-box"]],
  ["Rigid bodies", ["box-stack", "house-of-cards", "dominoes", "mug", "ramp", "pour", "ball-pile", "ball-grid"]],
];

/** Scenes of the package, which have pictures. */
export const KNOWN: ReadonlySet<string> = new Set(GROUPS.flatMap(([, names]) => names));

/** Names that say more than the scenes' own. */
const TITLES: Record<string, string> = {
  s0: "cloth on a tube",
  s1: "flattened rabbit",
  s2: "a heap of tori",
  armadillo: "standing body",
  box: "stretched box",
};

export function titleOf(name: string): string {
  return TITLES[name] ?? name.replaceAll("-", " ");
}

/** Groups with the scenes that there are. */
export function grouped(scenes: readonly SceneChoice[]): [string, SceneChoice[]][] {
  const of = (names: readonly string[]) => names.flatMap((name) => scenes.filter((one) => one.name === name));
  const others = scenes.filter((one) => !KNOWN.has(one.name));
  const groups: [string, SceneChoice[]][] = GROUPS.map(([title, names]) => [title, of(names)]);
  return [["Yours", others] as [string, SceneChoice[]], ...groups].filter(([, found]) => found.length > 0);
}
