() => {
  const found = [], shown = [];
  for (const text of document.querySelectorAll('svg text')) {
    const box = text.getBoundingClientRect(), said = text.textContent;
    if (!box.width) continue;
    if (box.left < -1 || box.right > document.documentElement.clientWidth + 1)
      found.push(`the label '${said}' is cut off`);
    if (box.height < 11) found.push(`the label '${said}' is too small`);
    shown.push([said, box, text.ownerSVGElement]);
  }
  for (const [i, [said, a, of]] of shown.entries())
    for (const [other, b, from] of shown.slice(i + 1))
      if (of === from && a.left < b.right - 1 && b.left < a.right - 1
          && a.top < b.bottom - 4 && b.top < a.bottom - 4)
        found.push(`the labels '${said}' and '${other}' overlap`);
  return found;
}
