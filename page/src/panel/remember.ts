// What a person chose is kept for the next visit, where the browser lets us.

const PREFIX = "vivace.";

export function remembered(key: string): string | null {
  try {
    return window.localStorage.getItem(PREFIX + key);
  } catch {
    return null; // storage can be forbidden altogether
  }
}

export function remember(key: string, value: string): void {
  try {
    window.localStorage.setItem(PREFIX + key, value);
  } catch {
    // then it holds for this visit
  }
}
