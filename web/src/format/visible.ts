// visible makes text from a host safe to read: control characters, and characters that are invisible or change the
// direction of text, become visible symbols. Line ends and tabs stay.
export function visible(text: string): string {
  return text.replace(hidden, (c) => {
    const code = c.codePointAt(0)!;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code); // ␀ to ␟
    if (code === 0x7f) return "\u2421"; // ␡
    return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  });
}

// Control characters (C0 without tab and line feed, DEL, C1), marks and overrides of direction, zero-width characters,
// separators of lines and paragraphs, the byte order mark, and tags.
const hidden = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f"
  + "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]", "gu");

// oneLine is visible, with line ends and tabs replaced by spaces.
export function oneLine(text: string): string {
  return visible(text.replace(/[\r\n\t]+/g, " "));
}
