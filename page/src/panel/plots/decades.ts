// A logarithmic axis in whole decades.

const FLAT: [number, number] = [1e-3, 1]; // where there is nothing to show
const SHOWN = 12; // decades below the largest value: what is smaller is rounding, and is drawn on the rim
const [SMALLEST, LARGEST] = [-30, 30]; // decimal exponents
const MARKS = 5; // at most, or one more

/** From the power of ten below the smallest value to the one above the largest, so that the axis does not tremble. */
export function decades(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0) || !(high < Infinity)) return [...FLAT];
  const top = Math.min(Math.ceil(Math.log10(high) - 1e-9), LARGEST);
  if (top <= SMALLEST) return [...FLAT];
  const bottom = Math.max(Math.floor(Math.log10(low) + 1e-9), top - SHOWN, SMALLEST);
  return [exactly(Math.min(bottom, top - 1)), exactly(top)];
}

/** Powers of ten between two. uPlot's own search for them does not end where they begin below 1e-24. */
export function marks(low: number, high: number): number[] {
  const [bottom, top] = [Math.round(Math.log10(low)), Math.round(Math.log10(high))];
  const every = Math.max(1, Math.ceil((top - bottom) / MARKS));
  const all = Array.from({ length: top - bottom + 1 }, (_, k) => bottom + k);
  return all.filter((exponent) => exponent % every === 0).map(exactly);
}

/** A power of ten as it is written: 10 ** -24 is another number than 1e-24. */
function exactly(exponent: number): number {
  return Number(`1e${exponent}`);
}
