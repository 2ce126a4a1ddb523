/** Python's strftime for the few templates that write today's date. English names, local time. */

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const two = (n: number): string => String(n).padStart(2, "0");

const dayOfYear = (date: Date): number =>
  (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 0)) / 86_400_000;

export function strftime(date: Date, format: string): string {
  const month = MONTHS[date.getMonth()] ?? "";
  const day = DAYS[date.getDay()] ?? "";
  const hour12 = date.getHours() % 12 === 0 ? 12 : date.getHours() % 12;
  const values: Readonly<Record<string, string>> = {
    Y: String(date.getFullYear()),
    y: two(date.getFullYear() % 100),
    m: two(date.getMonth() + 1),
    d: two(date.getDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: two(date.getHours()),
    I: two(hour12),
    M: two(date.getMinutes()),
    S: two(date.getSeconds()),
    p: date.getHours() < 12 ? "AM" : "PM",
    j: String(dayOfYear(date)).padStart(3, "0"),
    e: String(date.getDate()).padStart(2),
    k: String(date.getHours()).padStart(2),
    l: String(hour12).padStart(2),
    P: date.getHours() < 12 ? "am" : "pm",
    h: month.slice(0, 3),
    C: two(Math.floor(date.getFullYear() / 100)),
    F: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    D: `${two(date.getMonth() + 1)}/${two(date.getDate())}/${two(date.getFullYear() % 100)}`,
    T: `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
    R: `${two(date.getHours())}:${two(date.getMinutes())}`,
    f: String(date.getMilliseconds() * 1000).padStart(6, "0"),
    w: String(date.getDay()),
    u: String(date.getDay() === 0 ? 7 : date.getDay()),
    n: "\n",
    t: "\t",
    // The time that templates are told knows no zone.
    Z: "",
    z: "",
    "%": "%",
  };
  // A minus asks for no leading zero.
  return format.replace(/%(-?)([A-Za-z%])/gu, (whole, minus: string, letter: string) => {
    const value = values[letter];
    if (value === undefined) return whole;
    return minus === "-" ? value.replace(/^[0 ]+(?=\d)/u, "") : value;
  });
}
