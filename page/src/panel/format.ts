// Numbers as people read them: as many digits as help, a true minus, thin spaces before units.

const MINUS = "\u2212";
export const THIN = "\u202f";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export function fixed(value: number, digits: number): string {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", MINUS);
}

/** Three significant digits or so; powers of ten where zeros would pile up. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e4 || size < 1e-3) {
    const exponent = Math.floor(Math.log10(size));
    return `${fixed(value / 10 ** exponent, 1)}·${power(exponent)}`;
  }
  return fixed(value, Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(size)))));
}

/** 10 to an integer, for axes. */
export function power(exponent: number): string {
  const digits = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}

export function percent(share: number | undefined): string {
  if (share === undefined || !Number.isFinite(share)) return "–";
  const value = 100 * share;
  const text = value < 1000 ? fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0) : count(Math.round(value));
  return `${text}${THIN}%`;
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : value.toLocaleString("en-GB");
}

/** A summary from the server as a sentence of its own. */
export function sentence(text: string): string {
  const trimmed = text.replaceAll("`", "").trim();
  return trimmed && /[^.!?…]$/.test(trimmed) ? `${trimmed}.` : trimmed;
}
